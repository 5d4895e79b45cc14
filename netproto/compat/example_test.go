package compat_test

import (
	"fmt"
	"time"

	"collet/netproto/compat"
)

// A server of logic version 7 still serves 6, and has no module on offer; three clients say hello. The second number is the rule.
func ExampleEvaluate() {
	declared := compat.Declared{
		Versioned: true, Supported: compat.Range{Min: 6, Max: 7}, Build: compat.Build{Logic: 7},
	}
	snapshot := declared.Snapshot(compat.Defaults(declared), time.Unix(0, 0))
	for _, logic := range []int32{5, 7, 8} {
		hello := &compat.Hello{Build: compat.Build{Logic: logic}, Target: "Linux-x64", Tagged: true}
		judgement := compat.Evaluate(snapshot, hello)
		fmt.Println(logic, judgement.Verdict, judgement.Rule, judgement.Plays())
	}
	// Output:
	// 5 NO_NATIVE_UPDATE 5 false
	// 7 ACCEPT 11 true
	// 8 CLIENT_TOO_NEW 4 false
}
