package call

var free = map[string]int{}

func change() { changedByTests[0] = 2 }
