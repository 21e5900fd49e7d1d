package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/oklog/ulid/v2"

	"mcprelay/shared/audit"
	"mcprelay/shared/call"
)

const (
	// skew is how far a call id's time may lie from the record's own: both are
	// taken from one clock reading, to the millisecond in the id.
	skew = time.Second
	// ahead is how far in the future records of faster clocks are looked for.
	ahead = time.Hour
	// maxReads bounds the requests that one page may cost: a month of days with
	// nothing in them. What is left is behind the cursor.
	maxReads = 32 * Shards
)

// errTenant refuses a filter that would read across tenants.
var errTenant = errors.New("a filter needs a tenant")

// Audit gives a page of a tenant's records, newest first, and the cursor of the
// next page, empty after the last. A page may hold fewer records than asked for
// while there is a cursor, even none. A cursor stays good while records
// arrive: it stands for a call id.
func (s *Store) Audit(ctx context.Context, f audit.Filter) ([]audit.Record, string, error) {
	q, err := s.newQuery(f)
	if err != nil {
		return nil, "", fmt.Errorf("audit: %w", err)
	}
	if err := q.run(ctx); err != nil {
		return nil, "", fmt.Errorf("audit: %w", err)
	}
	if len(q.found) > q.size {
		q.found = q.found[:q.size]
		return q.found, q.found[q.size-1].CallID, nil
	}
	return q.found, q.rest, nil
}

// query is one page on its way.
type query struct {
	store  *Store
	filter audit.Filter
	plan   plan
	size   int
	low    string // least call id
	high   string // call ids are below this
	oldest time.Time

	found []audit.Record
	reads int
	rest  string // call ids below this were not looked at; empty for none
}

// newQuery checks a filter and bounds the call ids it may select.
func (s *Store) newQuery(f audit.Filter) (*query, error) {
	if f.Tenant == "" {
		return nil, errTenant
	}
	now := s.c.Now()
	q := &query{store: s, filter: f, plan: planOf(f), size: f.PageSize(), oldest: now.Add(-Retention)}
	if f.Since.After(q.oldest) {
		q.oldest = f.Since
	}
	newest := now.Add(ahead)
	if !f.Until.IsZero() && f.Until.Before(newest) {
		newest = f.Until
	}
	q.low, q.high = lowest(q.oldest.Add(-skew)), lowest(newest.Add(skew))
	if f.Cursor == "" {
		return q, nil
	}
	if _, err := ulid.ParseStrict(f.Cursor); err != nil {
		return nil, ErrCursor
	}
	q.high = min(q.high, f.Cursor)
	return q, nil
}

// run reads period after period, newest first, until the page is full, the
// oldest is reached, or the page has cost enough. It finds one record more
// than the page has, which tells that there is a next one.
func (q *query) run(ctx context.Context) error {
	for at := timeOf(q.high); q.low < q.high; {
		if err := q.merge(ctx, q.plan.partitions(at)); err != nil {
			return err
		}
		start := q.plan.start(at)
		if q.full() || q.rest != "" || lowest(start) <= q.low {
			return nil
		}
		q.high = min(q.high, lowest(start))
		at = start.Add(-time.Millisecond)
		if q.reads >= maxReads {
			q.rest = q.high
			return nil
		}
	}
	return nil
}

// full reports whether the page, and the record that follows it, are found.
func (q *query) full() bool { return len(q.found) > q.size }

// wants is what expressions cannot say as exactly.
func (q *query) wants(r audit.Record) bool {
	return !r.Time.Before(q.filter.Since) && (q.filter.Until.IsZero() || r.Time.Before(q.filter.Until))
}

func timeOf(id string) time.Time {
	parsed, err := ulid.ParseStrict(id)
	if err != nil {
		return time.Time{}
	}
	return ulid.Time(parsed.Time()).UTC()
}

// plan says where a filter's records are found.
type plan struct {
	index  string // empty for the table itself
	key    string // attribute of the partition
	prefix string // of its values
	period string // day, month, or empty for none
	equal  map[string]string
}

// planOf takes the narrowest index. What it does not decide is filtered.
func planOf(f audit.Filter) plan {
	tenant := name(f.Tenant)
	p := plan{equal: map[string]string{}}
	for attribute, value := range map[string]string{
		attrAgent: f.Agent, attrServer: f.Server, attrTool: f.Tool, attrRun: f.Run, attrOutcome: string(f.Outcome),
	} {
		if value != "" {
			p.equal[attribute] = value
		}
	}
	switch {
	case f.Run != "":
		delete(p.equal, attrRun)
		p.index, p.key, p.prefix = IndexRun, attrRunPK, partition("T", tenant, "R", name(f.Run))
	case f.Agent != "":
		delete(p.equal, attrAgent)
		p.index, p.key, p.prefix, p.period = IndexAgent, attrAgentPK, partition("T", tenant, "A", name(f.Agent)), month
	case f.Server != "":
		delete(p.equal, attrServer)
		p.index, p.key, p.prefix, p.period = IndexServer, attrServerPK, partition("T", tenant, "S", name(f.Server)), month
	case f.Outcome == call.RefusedByPolicy:
		p.index, p.key, p.prefix, p.period = IndexDeny, attrDenyPK, partition("T", tenant, "D"), month
	default:
		p.key, p.prefix, p.period = attrPK, partition("T", tenant), day
	}
	return p
}

// partitions are the keys of the period that holds a time, one a shard.
func (p plan) partitions(at time.Time) []string {
	prefix := p.prefix
	if p.period != "" {
		prefix = partition(prefix, at.Format(p.period))
	}
	keys := make([]string, Shards)
	for shard := range keys {
		keys[shard] = partition(prefix, fmt.Sprint(shard))
	}
	return keys
}

// start is the beginning of the period that holds a time.
func (p plan) start(at time.Time) time.Time {
	switch p.period {
	case day:
		return time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
	case month:
		return time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC)
	}
	return time.Time{}
}
