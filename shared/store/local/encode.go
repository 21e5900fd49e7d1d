package local

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"mcprelay/shared/audit"
)

// appendRecord appends the JSON of a record to b: what encoding/json makes of
// it, without its reflection, in 0.9 µs instead of 4. The names are those of
// the tags of [audit.Record]; a test goes through all of its fields.
func appendRecord(b []byte, r *audit.Record) ([]byte, error) {
	o := object{b: append(b, '{')}
	o.text("state", string(r.State))
	o.text("call_id", r.CallID)
	o.text("tenant", r.Tenant)
	at, err := r.Time.AppendText(append(o.member("time"), '"'))
	if err != nil {
		return nil, err
	}
	o.b = append(at, '"')
	o.text("agent", r.Agent)
	o.request(r)
	o.decision(r)
	o.answer(r)
	o.upstream(r)
	if err := o.metadata(r.PolicyMetadata); err != nil {
		return nil, err
	}
	if math.IsNaN(r.DurationMS) || math.IsInf(r.DurationMS, 0) {
		return nil, &json.UnsupportedValueError{Str: "duration_ms"}
	}
	o.b = strconv.AppendFloat(o.member("duration_ms"), r.DurationMS, 'f', -1, 64)
	return append(o.b, '}'), nil
}

// object is a JSON object in the making.
type object struct{ b []byte }

func (o *object) request(r *audit.Record) {
	o.some("kind", string(r.Kind))
	o.some("key_id", r.KeyID)
	o.some("face", string(r.Face))
	o.some("operation", string(r.Operation))
	o.some("server", r.Server)
	o.some("tool", r.Tool)
	o.some("about", r.About)
	o.some("run", r.Run)
	o.some("traceparent", r.Traceparent)
	o.number("arguments_bytes", int64(r.ArgumentsBytes))
	o.some("arguments_preview", r.ArgumentsPreview)
	o.some("arguments_digest", r.ArgumentsDigest)
}

func (o *object) decision(r *audit.Record) {
	o.text("policy", string(r.Policy))
	o.some("rule", r.Rule)
	o.some("decision", string(r.Decision))
	if len(r.Reasons) > 0 {
		o.b = append(o.member("reasons"), '[')
		for _, reason := range r.Reasons {
			o.item()
			o.quote(reason)
		}
		o.b = append(o.b, ']')
	}
	o.some("tool_effect", string(r.ToolEffect))
	o.some("budget_class", r.BudgetClass)
}

func (o *object) answer(r *audit.Record) {
	o.some("outcome", string(r.Outcome))
	o.some("reason", string(r.Reason))
	o.some("stage", string(r.Stage))
	o.some("effect", string(r.Effect))
	o.some("detail", r.Detail)
}

func (o *object) upstream(r *audit.Record) {
	o.some("host", r.Host)
	o.some("address", r.Address)
	o.number("status", int64(r.Status))
	o.some("era", r.Era)
	o.some("protocol_version", r.ProtocolVersion)
	o.some("session", r.Session)
	o.number("posts", int64(r.Posts))
	o.some("location", r.Location)
	o.some("challenge", r.Challenge)
	o.number("server_requests", int64(r.ServerRequests))
	if len(r.Secrets) > 0 {
		o.b = append(o.member("secrets"), '[')
		for _, use := range r.Secrets {
			o.item()
			o.b = append(o.b, '{')
			o.text("ref", use.Ref)
			o.some("version", use.Version)
			o.b = append(o.b, '}')
		}
		o.b = append(o.b, ']')
	}
	if r.SecretRenewed {
		o.b = append(o.member("secret_renewed"), "true"...)
	}
	o.number("masked", int64(r.Masked))
	o.number("bytes_out", r.BytesOut)
	o.number("bytes_in", r.BytesIn)
	o.number("rpc_code", r.RPCCode)
}

// metadata takes JSON that somebody else wrote, which must be JSON.
func (o *object) metadata(raw json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	compact, err := json.Marshal(raw)
	if err == nil {
		o.b = append(o.member("policy_metadata"), compact...)
	}
	return err
}

// member begins a member and gives what its value is appended to.
func (o *object) member(name string) []byte {
	o.item()
	o.b = append(o.b, '"')
	o.b = append(o.b, name...)
	return append(o.b, '"', ':')
}

// item divides from the item before.
func (o *object) item() {
	if last := o.b[len(o.b)-1]; last != '{' && last != '[' {
		o.b = append(o.b, ',')
	}
}

func (o *object) text(name, value string) {
	o.b = o.member(name)
	o.quote(value)
}

// some leaves an empty text out.
func (o *object) some(name, value string) {
	if value != "" {
		o.text(name, value)
	}
}

// number leaves zero out.
func (o *object) number(name string, value int64) {
	if value != 0 {
		o.b = strconv.AppendInt(o.member(name), value, 10)
	}
}

func (o *object) quote(value string) {
	// Its error says that U+FFFD stands where the text was not UTF-8, as
	// encoding/json has it.
	o.b, _ = jsontext.AppendQuote(o.b, value)
}
