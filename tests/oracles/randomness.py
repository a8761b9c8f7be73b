"""SplitMix64 in plain Python."""

WORD = 2**64


def mix(number: int) -> int:
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) % WORD
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) % WORD
    return number ^ (number >> 31)


def derive(seed: int, number: int) -> int:
    golden, odd = 0x9E3779B97F4A7C15, 0x94D049BB133111EB
    return mix(mix((seed + golden) % WORD) ^ ((number * odd + golden) % WORD))


class Random:
    def __init__(self, seed: int) -> None:
        self.state = seed

    def draw(self) -> float:
        self.state = (self.state + 0x9E3779B97F4A7C15) % WORD
        return (mix(self.state) >> 11) * 2.0**-53
