"""A Go program: goroutines whose stacks grow and move, panics, a fault that becomes a panic, garbage collection,
preemption by signals."""
from real import compiled, real_program, which

DIRECTORY = compiled([which("go"), "build", "-o", "gopher"], "gopher.go", GO111MODULE="off",
                     GOFLAGS="", CGO_ENABLED="0")
COUNTS = {"main.deep": sum(1001 + i for i in range(50)), "main.dive": 21, "main.nilPointer": 1,
          "main.caught": 1, "main.sums.func1": 50}

real_program([f"{DIRECTORY}/gopher"], status=2, counts=COUNTS)
