"""Small programs whose costs are plain to see."""

SUM = "tol x: R [n]\ny := reduce(x, add, 0)\n"  # n
SUM_OF_EXP = "tol x: R [n]\ny := reduce(map(x, exp(*)), add, 0)\n"  # 2*n
SUM_RENAMED = "tol x: R [rows]\ny := reduce(x, add, 0)\n"  # rows

SIXTY_FOUR = "tol x: R [s]\ntol w: R [64]\ny := map(tol[s], reduce(w, add, 0), [i])\n"  # 64*s
SQUARE = "tol x: R [s]\ntol w: R [64]\ny := map(tol[s], reduce(x, add, 0), [i])\n"  # s**2

# floor(m*n/k), and n*floor(m/k): never more, which nothing here can prove
TOGETHER = "tol x: R [n]\ntol y: R [m]\ntol z: R [k]\na := map(tol[n*m/k], x[1] + 1, [i])\n"
APART = "tol x: R [n]\ntol y: R [m]\ntol z: R [k]\na := map(tol[n, m/k], x[1] + 1, [i, j])\n"

BROKEN = "tol x: R [n]\ny := reduce(x, add, 0\n"
