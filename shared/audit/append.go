package audit

import (
	"strconv"
	"time"
	"unicode/utf8"
)

// MarshalJSON is AppendJSON.
func (r Record) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil), nil }

// AppendJSON appends the record as one JSON object without a line break. It is
// written by hand because it is on the path of every call twice, in the log
// and in the store: 1 µs where reflection takes 5.
func (r *Record) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"state":`...)
	dst = appendString(dst, string(r.State))
	dst = always(dst, "call_id", r.CallID)
	dst = always(dst, "tenant", r.Tenant)
	dst = append(dst, `,"time":"`...)
	dst = r.Time.UTC().AppendFormat(dst, time.RFC3339Nano)
	dst = append(dst, '"')
	dst = always(dst, "agent", r.Agent)
	dst = always(dst, "server", r.Server)
	dst = always(dst, "tool", r.Tool)
	dst = always(dst, "about", r.About)
	dst = always(dst, "policy", string(r.Policy))
	dst = always(dst, "rule", r.Rule)
	dst = always(dst, "decision", string(r.Decision))
	dst = always(dst, "outcome", string(r.Outcome))
	dst = always(dst, "reason", string(r.Reason))
	dst = append(dst, `,"duration_ms":`...)
	dst = strconv.AppendFloat(dst, r.DurationMS, 'f', -1, 64)
	dst = r.appendCall(dst)
	dst = r.appendExchange(dst)
	return append(r.appendList(dst), '}')
}

// appendCall appends what was asked, and what the stations before the exchange
// made of it.
func (r *Record) appendCall(dst []byte) []byte {
	dst = text(dst, "kind", string(r.Kind))
	dst = text(dst, "key_id", r.KeyID)
	dst = text(dst, "issuer", r.Issuer)
	dst = text(dst, "face", string(r.Face))
	dst = text(dst, "operation", string(r.Operation))
	dst = text(dst, "run", r.Run)
	dst = text(dst, "turn", r.Turn)
	dst = text(dst, "traceparent", r.Traceparent)
	dst = text(dst, "repeat_of", r.RepeatOf)
	if len(r.Reasons) > 0 {
		dst = append(dst, `,"reasons":[`...)
		for i, reason := range r.Reasons {
			dst = appendString(comma(dst, i), reason)
		}
		dst = append(dst, ']')
	}
	dst = text(dst, "tool_effect", string(r.ToolEffect))
	dst = text(dst, "budget_class", r.BudgetClass)
	if len(r.PolicyMetadata) > 0 {
		dst = append(append(dst, `,"policy_metadata":`...), r.PolicyMetadata...)
	}
	dst = number(dst, "arguments_bytes", int64(r.ArgumentsBytes))
	dst = text(dst, "arguments_preview", r.ArgumentsPreview)
	dst = text(dst, "arguments_digest", r.ArgumentsDigest)
	dst = text(dst, "stage", string(r.Stage))
	dst = text(dst, "effect", string(r.Effect))
	return text(dst, "detail", r.Detail)
}

// appendExchange appends what happened upstream.
func (r *Record) appendExchange(dst []byte) []byte {
	dst = text(dst, "host", r.Host)
	dst = text(dst, "address", r.Address)
	dst = number(dst, "status", int64(r.Status))
	dst = text(dst, "era", r.Era)
	dst = text(dst, "protocol_version", r.ProtocolVersion)
	dst = text(dst, "session", r.Session)
	dst = flag(dst, "session_lost", r.SessionLost)
	dst = text(dst, "again", r.Again)
	dst = number(dst, "posts", int64(r.Posts))
	dst = text(dst, "location", r.Location)
	dst = text(dst, "challenge", r.Challenge)
	dst = number(dst, "server_requests", int64(r.ServerRequests))
	dst = number(dst, "notifications", int64(r.Notifications))
	dst = flag(dst, "cancel_sent", r.CancelSent)
	if len(r.Secrets) > 0 {
		dst = append(dst, `,"secrets":[`...)
		for i, use := range r.Secrets {
			dst = appendString(append(comma(dst, i), `{"ref":`...), use.Ref)
			dst = append(text(dst, "version", use.Version), '}')
		}
		dst = append(dst, ']')
	}
	dst = flag(dst, "secret_renewed", r.SecretRenewed)
	dst = number(dst, "masked", int64(r.Masked))
	dst = number(dst, "bytes_out", r.BytesOut)
	dst = number(dst, "bytes_in", r.BytesIn)
	dst = number(dst, "rpc_code", r.RPCCode)
	return text(dst, "result_type", r.ResultType)
}

// appendList appends what an acquisition found.
func (r *Record) appendList(dst []byte) []byte {
	dst = text(dst, "list", string(r.List))
	dst = number(dst, "items", int64(r.Items))
	dst = number(dst, "skipped", int64(r.Skipped))
	if len(r.Skips) == 0 {
		return dst
	}
	dst = append(dst, `,"skips":[`...)
	for i, skip := range r.Skips {
		dst = appendString(append(comma(dst, i), `{"name":`...), skip.Name)
		dst = append(always(dst, "reason", skip.Reason), '}')
	}
	return append(dst, ']')
}

func comma(dst []byte, i int) []byte {
	if i > 0 {
		return append(dst, ',')
	}
	return dst
}

func always(dst []byte, key, value string) []byte {
	dst = append(dst, `,"`...)
	dst = append(dst, key...)
	dst = append(dst, `":`...)
	return appendString(dst, value)
}

func text(dst []byte, key, value string) []byte {
	if value == "" {
		return dst
	}
	return always(dst, key, value)
}

func number(dst []byte, key string, value int64) []byte {
	if value == 0 {
		return dst
	}
	dst = append(dst, `,"`...)
	dst = append(dst, key...)
	dst = append(dst, `":`...)
	return strconv.AppendInt(dst, value, 10)
}

func flag(dst []byte, key string, value bool) []byte {
	if !value {
		return dst
	}
	dst = append(dst, `,"`...)
	dst = append(dst, key...)
	return append(dst, `":true`...)
}

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string (RFC 8259 section 7). Bytes that are
// no UTF-8 become U+FFFD; U+2028 and U+2029 are escaped, because some readers
// of lines take them for line ends.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' && c != 0x7f {
				i++
				continue
			}
			dst = append(dst, s[start:i]...)
			dst = appendEscape(dst, c)
			i++
			start = i
			continue
		}
		c, size := utf8.DecodeRuneInString(s[i:])
		if c == utf8.RuneError && size == 1 || c == '\u2028' || c == '\u2029' {
			dst = append(dst, s[start:i]...)
			dst = append(dst, `\u`...)
			dst = append(dst, hexDigits[c>>12&15], hexDigits[c>>8&15], hexDigits[c>>4&15], hexDigits[c&15])
			start = i + size
		}
		i += size
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}
