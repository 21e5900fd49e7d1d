package wire

// Traceparent reports whether s is a traceparent of W3C Trace Context (section
// 3.2): version, trace id, parent id and flags in lower-case hexadecimal, no id
// all zeros. A version that is not known yet may have more behind a hyphen, of
// characters that may be written into JSON as they are.
func Traceparent(s string) bool {
	const length, longest = 55, 256
	if len(s) < length || len(s) > longest || s[:2] == "ff" {
		return false
	}
	if len(s) > length && (s[:2] == "00" || s[length] != '-') {
		return false
	}
	for i := range length {
		switch i {
		case 2, 35, 52:
			if s[i] != '-' {
				return false
			}
		default:
			if !(s[i] >= '0' && s[i] <= '9' || s[i] >= 'a' && s[i] <= 'f') {
				return false
			}
		}
	}
	for _, b := range []byte(s[length:]) { // it is written into JSON as it is
		if b <= ' ' || b > '~' || b == '"' || b == '\\' {
			return false
		}
	}
	return !zeros(s[3:35]) && !zeros(s[36:52])
}

func zeros(s string) bool {
	for i := range len(s) {
		if s[i] != '0' {
			return false
		}
	}
	return true
}
