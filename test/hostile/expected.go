package hostile

// Held is how the record of a warm call says that it found the session of an era.
func Held(era Era) string {
	if era == Legacy {
		return "reused"
	}
	return "none"
}

// Fresh is how the record of a first call says that it came by it.
func Fresh(era Era) string {
	if era == Legacy {
		return "new"
	}
	return "none"
}

// Opens is how many initialize a first call costs a server of an era.
func Opens(era Era) int {
	if era == Modern {
		return 0
	}
	return 1
}
