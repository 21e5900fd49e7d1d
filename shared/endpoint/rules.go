package endpoint

// The words of the rules, in the order in which they are tried.
const (
	ruleLength        = "length"
	ruleByte          = "byte"
	ruleScheme        = "scheme"
	ruleParse         = "parse"
	ruleUserinfo      = "userinfo"
	ruleFragment      = "fragment"
	ruleHost          = "host"
	ruleHostEmpty     = "host-empty"
	ruleIPLiteral     = "ip-literal"
	ruleHostCase      = "host-case"
	ruleTrailingDot   = "trailing-dot"
	ruleHostLength    = "host-length"
	ruleSingleLabel   = "single-label"
	ruleLabel         = "label"
	ruleLabelChar     = "label-char"
	ruleLabelReserved = "label-reserved"
	ruleIDNA          = "idna"
	ruleNumericTLD    = "numeric-tld"
	ruleReservedName  = "reserved-name"
	rulePort          = "port"
	rulePath          = "path"
	ruleQueryNoPath   = "query-without-path"
	ruleQuery         = "query"
	ruleQuerySecret   = "query-secret"
	ruleCanonical     = "canonical"
)

// Error says which rule an endpoint broke. It holds no byte of the endpoint,
// which may have carried a credential.
type Error struct {
	Rule string // one of the words of testdata/urls.tsv
	Hint string // what the operator should write instead
}

// Error is the rule's word and its hint.
func (e *Error) Error() string { return e.Rule + ": " + e.Hint }

// hint is the operator's sentence for a rule.
func hint(rule string) string {
	switch rule {
	case ruleLength:
		return "an endpoint has at most 2048 bytes"
	case ruleByte:
		return "only visible ASCII without backslash is allowed; write international names as xn--"
	case ruleScheme:
		return "an endpoint starts with https:// in lower case"
	case ruleParse:
		return "this is not a URL"
	case ruleUserinfo:
		return "a user name or password in the URL is not allowed; use auth"
	case ruleFragment:
		return "a fragment is not allowed"
	case ruleHost, ruleHostEmpty:
		return "the host is missing"
	case rulePort:
		return "a port is a decimal from 1 to 65535 without leading zeros, and is left out where it is the scheme's own"
	case rulePath:
		return "a path has no escapes, no empty or dot segments and only characters that need no escape"
	case ruleQueryNoPath:
		return "a query needs a path before it; write / after the host"
	case ruleQuery:
		return "a query is not empty and has valid escapes"
	case ruleQuerySecret:
		return "a credential in the query is not allowed; use auth.type query"
	case ruleCanonical:
		return "this is a second spelling of another URL"
	}
	return hostHint(rule)
}

// hostHint is the sentence for a rule about the host name.
func hostHint(rule string) string {
	switch rule {
	case ruleIPLiteral:
		return "an address instead of a name is not allowed; loopback literals need --allow-loopback"
	case ruleHostCase:
		return "the host is written in lower case"
	case ruleTrailingDot:
		return "the host does not end with a dot"
	case ruleHostLength:
		return "a host name has at most 253 bytes"
	case ruleSingleLabel:
		return "a host name has at least two labels; localhost needs --allow-loopback"
	case ruleLabel:
		return "a label of the host has 1 to 63 bytes and neither starts nor ends with a hyphen"
	case ruleLabelChar:
		return "a label of the host holds letters, digits and hyphens only"
	case ruleLabelReserved:
		return "two hyphens after two characters are reserved; only xn-- is in use"
	case ruleIDNA:
		return "an xn-- label of the host is not a valid international name"
	case ruleNumericTLD:
		return "the last label of the host starts with a digit, which other readers take for an address"
	case ruleReservedName:
		return "the last label of the host is reserved for local or special use; private names need allowed_networks"
	}
	return "the endpoint is not allowed"
}
