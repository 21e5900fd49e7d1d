package wire

// object calls visit with the name and the place of each member's value; visit
// gives the end of the value. What is no object is passed over.
func (w *rewriter) object(i int, visit func(name []byte, i int) int) int {
	if i >= len(w.text) || w.text[i] != '{' {
		return w.pass(i)
	}
	return w.elements(i, '}', func(i int) int {
		if w.text[i] != '"' {
			return -1
		}
		end := endOfString(w.text, i)
		value := blanks(w.text, end)
		if value >= len(w.text) || w.text[value] != ':' {
			return -1
		}
		if value = blanks(w.text, value+1); value >= len(w.text) {
			return -1
		}
		return visit(unquote(w.text[i:end]), value)
	})
}

// array calls visit with the place of each element; visit gives its end. What
// is no array is passed over.
func (w *rewriter) array(i int, visit func(i int) int) int {
	if i >= len(w.text) || w.text[i] != '[' {
		return w.pass(i)
	}
	return w.elements(i, ']', visit)
}

// elements calls visit with the place of each part of the object or array at
// text[i], up to its closing bracket.
func (w *rewriter) elements(i int, closing byte, visit func(i int) int) int {
	i = blanks(w.text, i+1)
	if i < len(w.text) && w.text[i] == closing {
		return i + 1
	}
	for i < len(w.text) {
		end := visit(i)
		if end <= i {
			return -1
		}
		if i = blanks(w.text, end); i >= len(w.text) {
			break
		}
		switch w.text[i] {
		case closing:
			return i + 1
		case ',':
			i = blanks(w.text, i+1)
		default:
			return -1
		}
	}
	return -1
}

// pass gives the end of a value that is not looked into.
func (w *rewriter) pass(i int) int {
	if end := endOfValue(w.text, i); end > i {
		return end
	}
	return -1
}
