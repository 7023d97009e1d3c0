"""Prices of options by Black and Scholes, in double precision."""

import hashlib
import math

import numpy as np
from numba import cuda

OPTIONS, RATE, VOLATILITY = 300, 0.02, 0.3


@cuda.jit(device=True)
def below(d):
    """The normal distribution up to d, as Abramowitz and Stegun approximate it."""
    k = 1.0 / (1.0 + 0.2316419 * math.fabs(d))
    sum_ = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    tail = 0.39894228040143267793994605993438 * math.exp(-0.5 * d * d) * sum_
    return 1.0 - tail if d > 0 else tail


@cuda.jit
def price(stock, strike, years, call, put):
    i = cuda.grid(1)
    if i >= stock.shape[0]:
        return
    root = math.sqrt(years[i])
    d1 = (math.log(stock[i] / strike[i]) + (RATE + 0.5 * VOLATILITY * VOLATILITY) * years[i]) / (VOLATILITY * root)
    d2 = d1 - VOLATILITY * root
    discount = math.exp(-RATE * years[i])
    call[i] = stock[i] * below(d1) - strike[i] * discount * below(d2)
    put[i] = strike[i] * discount * (1.0 - below(d2)) - stock[i] * (1.0 - below(d1))


def main():
    rng = np.random.default_rng(6)
    stock, strike, years = rng.uniform(5, 30, OPTIONS), rng.uniform(1, 100, OPTIONS), rng.uniform(0.25, 10, OPTIONS)
    call, put = np.zeros(OPTIONS), np.zeros(OPTIONS)
    stream = cuda.stream()
    given = [cuda.to_device(x, stream=stream) for x in (stock, strike, years)]
    made = [cuda.to_device(x, stream=stream) for x in (call, put)]
    price[-(-OPTIONS // 128), 128, stream](*given, *made)
    for there, here in zip(made, (call, put)):
        there.copy_to_host(here, stream=stream)
    stream.synchronize()
    d1 = (np.log(stock / strike) + (RATE + 0.5 * VOLATILITY ** 2) * years) / (VOLATILITY * np.sqrt(years))
    under = [np.array([0.5 * (1 + math.erf(x / math.sqrt(2))) for x in d]) for d in (d1, d1 - VOLATILITY * np.sqrt(years))]
    expected = stock * under[0] - strike * np.exp(-RATE * years) * under[1]
    np.testing.assert_allclose(call, expected, atol=1e-4)
    np.testing.assert_allclose(call - put, stock - strike * np.exp(-RATE * years), atol=1e-9)
    print("digest", hashlib.sha256(call.tobytes() + put.tobytes()).hexdigest())


if __name__ == "__main__":
    main()
