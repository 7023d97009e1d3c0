"""What an access to shared memory costs: the bank model, its fast forms, copies, retries; and records of counts."""
