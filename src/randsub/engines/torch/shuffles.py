"""The order of samples in the epochs of many networks, each from a generator of its own.

It is that of scikit-learn: ``RandomState.shuffle`` of NumPy, whose Mersenne Twister is continued
here for all networks at once, on several threads.
"""

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
from joblib import cpu_count

from randsub._compile import compiled
from randsub._typing import IntArray

THREADS = min(8, cpu_count())


class Shuffles:
    """Orders of the samples, one epoch after the other; the next is drawn while one is used.

    Parameters
    ----------
    generators : sequence of numpy.random.RandomState
        One for each network; their state is copied.
    n_rows : int
    shuffles : bool
        Whether the order changes at all.
    """

    def __init__(self, generators: Any, n_rows: int, *, shuffles: bool) -> None:
        states = [one.get_state(legacy=True) for one in generators]
        self._keys = np.array([state[1] for state in states], dtype=np.uint32)
        self._places = np.array([state[2] for state in states], dtype=np.int64)
        self._orders = np.tile(np.arange(n_rows), (len(states), 1))
        self._shuffles = shuffles
        self._threads = ThreadPoolExecutor(THREADS)
        self._next: list[Future[None]] = []
        self._draw()

    def _draw(self) -> None:
        if not self._shuffles:
            return
        self._orders = self._orders.copy()
        for part in np.array_split(np.arange(len(self._orders)), THREADS):
            if len(part):
                cut = slice(part[0], part[-1] + 1)
                state = (self._keys[cut], self._places[cut], self._orders[cut])
                self._next.append(self._threads.submit(shuffle_rows, *state))

    def epoch(self) -> IntArray:
        """Order of the rows (B, n) of each network in the next epoch."""
        for one in self._next:
            one.result()
        self._next = []
        orders = self._orders
        self._draw()
        return orders

    def keep(self, which: IntArray) -> None:
        """Go on with some of the networks."""
        for one in self._next:
            one.result()
        self._next = []
        self._keys, self._places = self._keys[which], self._places[which]
        self._orders = self._orders[which]

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown(wait=True, cancel_futures=True)


@compiled()
def _twist(key):  # type: ignore[no-untyped-def]
    """The next 624 words of the Mersenne Twister."""
    for i in range(624):
        y = (key[i] & np.uint32(0x80000000)) | (key[(i + 1) % 624] & np.uint32(0x7FFFFFFF))
        odd = np.uint32(0x9908B0DF) if y & np.uint32(1) else np.uint32(0)
        key[i] = key[(i + 397) % 624] ^ (y >> np.uint32(1)) ^ odd


@compiled()
def shuffle_rows(keys, places, orders):  # type: ignore[no-untyped-def]
    """Permute each row of ``orders`` as scikit-learn's ``shuffle`` does, and advance the states."""
    n = orders.shape[1]
    for t in range(len(orders)):
        key, place = keys[t], places[t]
        moved = np.arange(n)
        mask = np.uint32(1)
        while mask < n - 1:
            mask = (mask << np.uint32(1)) | np.uint32(1)
        for i in range(n - 1, 0, -1):
            # The smallest number of all ones that is not below i.
            while (mask >> np.uint32(1)) >= i:
                mask >>= np.uint32(1)
            while True:
                if place == 624:
                    _twist(key)
                    place = 0
                y = key[place]
                place += 1
                y ^= y >> np.uint32(11)
                y ^= (y << np.uint32(7)) & np.uint32(0x9D2C5680)
                y ^= (y << np.uint32(15)) & np.uint32(0xEFC60000)
                y ^= y >> np.uint32(18)
                j = np.int64(y & mask)
                if j <= i:
                    break
            moved[i], moved[j] = moved[j], moved[i]
        places[t] = place
        orders[t] = orders[t][moved]
