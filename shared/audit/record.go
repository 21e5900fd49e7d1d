// Package audit is the record of a call: one item, written as an intent
// before anything is sent and completed as a final when the call has ended.
//
// It promises that a record holds no secret, no session id, no query string
// and no upstream content beyond a masked, cut preview of the arguments, and
// that every field has one name in the log line, both stores and the
// command. It refuses to store anything itself: stores do.
package audit

import (
	"encoding/json"
	"time"

	"mcprelay/shared/call"
)

// State says how far a record has come.
type State string

// The states.
const (
	StateIntent State = "intent"
	StateFinal  State = "final"
)

// SecretUse names a secret that was used, never its value.
type SecretUse struct {
	Ref     string `json:"ref"`
	Version string `json:"version,omitempty"`
}

// Record is one call in the audit trail. Durations are in milliseconds,
// sizes in bytes, times in UTC. The keys that a reader of the trail sorts and
// filters by come first and are always there; the others are left out when
// empty.
type Record struct {
	State      State              `json:"state"`
	CallID     string             `json:"call_id"`
	Tenant     string             `json:"tenant"`
	Time       time.Time          `json:"time"`
	Agent      string             `json:"agent"`
	Server     string             `json:"server"`
	Tool       string             `json:"tool"`
	About      string             `json:"about"`
	Policy     call.PolicyVerdict `json:"policy"`
	Rule       string             `json:"rule"`
	Decision   call.Verdict       `json:"decision"`
	Outcome    call.Outcome       `json:"outcome"`
	Reason     call.Reason        `json:"reason"`
	DurationMS float64            `json:"duration_ms"`

	Kind        call.Kind      `json:"kind,omitempty"`
	KeyID       string         `json:"key_id,omitempty"`
	Issuer      string         `json:"issuer,omitempty"` // of the caller's JWT
	Face        call.Face      `json:"face,omitempty"`
	Operation   call.Operation `json:"operation,omitempty"`
	Run         string         `json:"run,omitempty"`
	Turn        string         `json:"turn,omitempty"`
	Traceparent string         `json:"traceparent,omitempty"`
	RepeatOf    string         `json:"repeat_of,omitempty"` // the call whose outcome this one was given, by its idempotency key

	Reasons        []string        `json:"reasons,omitempty"`
	ToolEffect     call.Effect     `json:"tool_effect,omitempty"`
	BudgetClass    string          `json:"budget_class,omitempty"`
	PolicyMetadata json.RawMessage `json:"policy_metadata,omitempty"` // of the tool, as registered, at most 1 KiB

	ArgumentsBytes   int    `json:"arguments_bytes,omitempty"`
	ArgumentsPreview string `json:"arguments_preview,omitempty"`
	ArgumentsDigest  string `json:"arguments_digest,omitempty"`

	Stage  call.Stage  `json:"stage,omitempty"`
	Effect call.Impact `json:"effect,omitempty"`
	Detail string      `json:"detail,omitempty"`

	Host            string      `json:"host,omitempty"`
	Address         string      `json:"address,omitempty"` // of the server; of a child process its number
	Status          int         `json:"status,omitempty"`
	Era             string      `json:"era,omitempty"`
	ProtocolVersion string      `json:"protocol_version,omitempty"`
	Session         string      `json:"session,omitempty"`         // none, new, reused, renewed, unsaved
	SessionLost     bool        `json:"session_lost,omitempty"`    // by the server: the request was put twice
	Again           string      `json:"again,omitempty"`           // why the request was put again: session, version, secret, headers
	Posts           int         `json:"posts,omitempty"`           // POSTs of the agent's request
	Location        string      `json:"location,omitempty"`        // host of a redirect
	Challenge       string      `json:"challenge,omitempty"`       // WWW-Authenticate of the upstream
	ServerRequests  int         `json:"server_requests,omitempty"` // what the server asked of the relay
	Notifications   int         `json:"notifications,omitempty"`   // what it told it meanwhile
	CancelSent      bool        `json:"cancel_sent,omitempty"`     // the server was told that nobody waits any more
	Secrets         []SecretUse `json:"secrets,omitempty"`
	SecretRenewed   bool        `json:"secret_renewed,omitempty"`
	Masked          int         `json:"masked,omitempty"`
	BytesOut        int64       `json:"bytes_out,omitempty"`
	BytesIn         int64       `json:"bytes_in,omitempty"`
	RPCCode         int64       `json:"rpc_code,omitempty"`
	ResultType      string      `json:"result_type,omitempty"` // where it is not complete: input_required

	List    call.List `json:"list,omitempty"`    // of an acquisition: which list was read
	Items   int       `json:"items,omitempty"`   // of an acquisition: how many were usable
	Skipped int       `json:"skipped,omitempty"` // and how many were not
	Skips   []Skip    `json:"skips,omitempty"`   // the first [MaxSkips] of those
}

// MaxSkips bounds the descriptors that a record names, so that a server with
// hundreds of odd ones cannot blow it up.
const MaxSkips = 8

// Skip is an item of a server's list that was left out, and why.
type Skip struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// Filter selects records of one tenant, newest first. Empty fields select
// everything; Limit 0 means 100, and is capped at [MaxPage].
type Filter struct {
	Tenant  string
	Agent   string
	Server  string
	Tool    string
	Run     string
	Outcome call.Outcome
	Since   time.Time // inclusive
	Until   time.Time // exclusive
	Limit   int
	Cursor  string // of the page before
}

// MaxPage bounds one page of records.
const MaxPage = 1000

// PageSize is the number of records that f asks for.
func (f Filter) PageSize() int {
	switch {
	case f.Limit <= 0:
		return 100
	case f.Limit > MaxPage:
		return MaxPage
	}
	return f.Limit
}
