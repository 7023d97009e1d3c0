"""What is known of a function of PTX before it runs: what ptxas makes of it, and what its accesses are for."""
