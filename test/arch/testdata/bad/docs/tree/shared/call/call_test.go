package call_test

func Helper() {}
