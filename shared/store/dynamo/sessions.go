package dynamo

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"mcprelay/shared/session"
)

// MaxEntries bounds the sessions that one question gives.
const MaxEntries = 1000

// grace is [session.ClosingGrace] in the unit of the expiry attribute.
const grace = int64(session.ClosingGrace / time.Second)

// SessionsOfRun gives the sessions of a run that nobody has closed yet, by
// [session.State.RunKey], expired ones as well; at most [MaxEntries]. It may
// miss what was saved a moment ago: the index follows its table.
func (s *Store) SessionsOfRun(ctx context.Context, run session.Key) ([]session.Entry, error) {
	if run == "" {
		return nil, nil
	}
	entries, err := s.entries(ctx, MaxEntries, func(shard string) *dynamodb.QueryInput {
		values := item{}
		values.text(":pk", partition(string(run), shard))
		values.number(":now", s.c.Now().Unix())
		return &dynamodb.QueryInput{
			IndexName:                 aws.String(IndexRun),
			KeyConditionExpression:    aws.String("#pk = :pk"),
			FilterExpression:          aws.String("#exp > :now"),
			ExpressionAttributeNames:  map[string]string{"#pk": attrRunPK, "#exp": attrExpiry},
			ExpressionAttributeValues: values,
		}
	})
	if err != nil {
		return nil, fmt.Errorf("sessions of a run: %w", err)
	}
	return entries, nil
}

// SessionsExpired gives the sessions that expired by a time and that nobody has
// closed yet, oldest first; at most limit of them and at most [MaxEntries].
// What nobody closed within [session.ClosingGrace] is not given any more.
func (s *Store) SessionsExpired(ctx context.Context, before time.Time, limit int) ([]session.Entry, error) {
	low, high := s.c.Now().Unix()+1, before.Unix()+grace
	limit = min(limit, MaxEntries)
	if limit <= 0 || low > high { // DynamoDB refuses an empty range
		return nil, nil
	}
	entries, err := s.entries(ctx, limit, func(shard string) *dynamodb.QueryInput {
		values := item{}
		values.text(":pk", partition("X", shard))
		values.number(":low", low)
		values.number(":high", high)
		return &dynamodb.QueryInput{
			IndexName:                 aws.String(IndexExpiry),
			KeyConditionExpression:    aws.String("#pk = :pk AND #exp BETWEEN :low AND :high"),
			ExpressionAttributeNames:  map[string]string{"#pk": attrClosePK, "#exp": attrExpiry},
			ExpressionAttributeValues: values,
		}
	})
	if err != nil {
		return nil, fmt.Errorf("expired sessions: %w", err)
	}
	// The index knows seconds.
	return slices.DeleteFunc(entries, func(e session.Entry) bool { return e.State.Expires.After(before) }), nil
}

// entries asks every shard at once, each for as many as may be given in all,
// and gives those that expired first.
func (s *Store) entries(ctx context.Context, limit int, query func(shard string) *dynamodb.QueryInput) ([]session.Entry, error) {
	found := make([][]session.Entry, Shards)
	group, ctx := errgroup.WithContext(ctx)
	for n := range found {
		group.Go(func() (err error) {
			found[n], err = s.entriesOf(ctx, limit, query(strconv.Itoa(n)))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	all := slices.Concat(found...)
	slices.SortFunc(all, func(a, b session.Entry) int {
		return cmp.Or(a.State.Expires.Compare(b.State.Expires), cmp.Compare(a.Key, b.Key))
	})
	return all[:min(len(all), limit)], nil
}

// entriesOf reads one shard of an index, page by page.
func (s *Store) entriesOf(ctx context.Context, limit int, in *dynamodb.QueryInput) (entries []session.Entry, err error) {
	in.TableName = &s.c.State
	for {
		in.Limit = aws.Int32(int32(limit - len(entries)))
		out, err := s.c.DynamoDB.Query(ctx, in)
		if err != nil {
			return nil, err
		}
		for _, stored := range out.Items {
			key, _, _ := strings.Cut(item(stored).getText(attrPK), asideMark)
			entry := session.Entry{Key: session.Key(key)}
			if entry.State, err = stateOf(stored); err != nil {
				return nil, err
			}
			entries = append(entries, entry)
		}
		if len(out.LastEvaluatedKey) == 0 || len(entries) >= limit {
			return entries, nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

// stateOf reads a state out of its item.
func stateOf(i item) (session.State, error) {
	var state session.State
	if err := json.Unmarshal([]byte(i.getText(attrBody)), &state); err != nil {
		return session.State{}, fmt.Errorf("a stored state: %w", err)
	}
	state.Ver = i.getNumber(attrVer)
	return state, nil
}

// stateItem is a state as an item. One with a session id is in the indexes of
// what must be closed, and stays for as long as it can be.
func stateItem(key session.Key, state session.State, body []byte) item {
	i := item{}
	i.text(attrPK, string(key))
	i.text(attrBody, string(body))
	i.number(attrVer, state.Ver)
	i.number(attrExpiry, state.Expires.Unix())
	if state.SessionID == "" {
		return i
	}
	shard := shardOf(string(key))
	i.number(attrExpiry, state.Expires.Unix()+grace)
	i.text(attrClosePK, partition("X", shard))
	if run := state.RunKey(); run != "" {
		i.text(attrRunPK, partition(string(run), shard))
	}
	return i
}

// ends is when what an item holds expires, in seconds since 1970.
func (i item) ends() int64 {
	if i.getText(attrClosePK) != "" {
		return i.getNumber(attrExpiry) - grace
	}
	return i.getNumber(attrExpiry)
}

// first stores a state where none is, or where what is stored has expired. An
// expired session that nobody has closed yet gives way, and is kept beside it.
func (s *Store) first(ctx context.Context, i item) error {
	there, err := s.place(ctx, s.c.State, i, absent())
	if !errors.Is(err, errCondition) || there == nil || there.ends() > s.c.Now().Unix() {
		return err
	}
	if there.getText(attrClosePK) != "" {
		if err := s.aside(ctx, there); err != nil {
			return err
		}
	}
	return s.put(ctx, s.c.State, i, still(attrVer, there.getNumber(attrVer)))
}

// asideMark ends the key of a session in the key of one that was set aside. The
// version follows; no digest holds the mark.
const asideMark = "~"

// asideKey is where a session is set aside that had a version.
func asideKey(key string, ver int64) string {
	return key + asideMark + strconv.FormatInt(ver, 10)
}

// aside keeps a session to be closed where nobody loads it, under a negative
// version, by which it can be saved. Somebody else who did so for the same one
// did it as well.
func (s *Store) aside(ctx context.Context, i item) error {
	i = maps.Clone(i)
	ver := i.getNumber(attrVer)
	i.text(attrPK, asideKey(i.getText(attrPK), ver))
	i.number(attrVer, -ver)
	err := s.put(ctx, s.c.State, i, absent())
	if errors.Is(err, errCondition) {
		return nil
	}
	return err
}
