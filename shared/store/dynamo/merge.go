package dynamo

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"
)

// shard is one partition as far as it was read, newest first.
type shard struct {
	partition string
	items     []item
	next      item   // where to read on; nil at the end
	edge      string // call ids below this were not read
}

// head is the next call id of the shard, or the border beyond which it is not
// known; empty at the end.
func (s *shard) head() (id string, known bool) {
	switch {
	case len(s.items) > 0:
		return s.items[0].getText(attrSK), true
	case s.next != nil:
		return s.edge, false
	}
	return "", true
}

// merge adds the records of a period's partitions in the order of their ids.
// A shard is read on only where its unread part comes next.
func (q *query) merge(ctx context.Context, partitions []string) error {
	shards, err := q.open(ctx, partitions)
	if err != nil {
		return err
	}
	for !q.full() {
		var first *shard
		top, known := "", true
		for _, s := range shards {
			if id, sure := s.head(); id > top {
				first, top, known = s, id, sure
			}
		}
		switch {
		case first == nil:
			return nil
		case known:
			err = q.take(first)
		case q.reads >= maxReads:
			q.rest = top
			return nil
		default:
			q.reads++
			err = q.read(ctx, first)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// open reads the beginning of every partition at once.
func (q *query) open(ctx context.Context, partitions []string) ([]*shard, error) {
	shards := make([]*shard, len(partitions))
	group, ctx := errgroup.WithContext(ctx)
	for i, key := range partitions {
		shards[i] = &shard{partition: key}
		group.Go(func() error { return q.read(ctx, shards[i]) })
	}
	q.reads += len(partitions)
	return shards, group.Wait()
}

// take moves the first item of a shard to the page.
func (q *query) take(s *shard) error {
	first := s.items[0]
	s.items = s.items[1:]
	r, err := decode(first.getText(attrRecord))
	if err != nil {
		return err
	}
	if r.CallID < q.high && q.wants(r) {
		q.found = append(q.found, r)
	}
	return nil
}

// read reads on in a partition.
func (q *query) read(ctx context.Context, s *shard) error {
	in := q.input(s)
	out, err := q.store.c.DynamoDB.Query(ctx, in)
	if err != nil {
		return err
	}
	s.items, s.next = s.items[:0:0], nil
	for _, i := range out.Items {
		s.items = append(s.items, i)
	}
	if len(out.LastEvaluatedKey) > 0 {
		s.next = out.LastEvaluatedKey
		s.edge = s.next.getText(attrSK)
	}
	return nil
}

// input is the request for what follows in a partition.
func (q *query) input(s *shard) *dynamodb.QueryInput {
	names := map[string]string{"#k": q.plan.key, "#sk": attrSK, "#exp": attrExpiry, "#record": attrRecord}
	values := item{}
	values.text(":k", s.partition)
	values.text(":low", q.low)
	values.text(":high", q.high)
	values.number(":now", q.store.c.Now().Unix())
	filters := []string{"#exp > :now"}
	for attribute, value := range q.plan.equal {
		names["#"+attribute] = attribute
		values.text(":"+attribute, value)
		filters = append(filters, "#"+attribute+" = :"+attribute)
	}
	in := &dynamodb.QueryInput{
		TableName:                 &q.store.c.Audit,
		KeyConditionExpression:    aws.String("#k = :k AND #sk BETWEEN :low AND :high"),
		FilterExpression:          aws.String(strings.Join(filters, " AND ")),
		ProjectionExpression:      aws.String("#sk, #record"),
		ExpressionAttributeNames:  names,
		ExpressionAttributeValues: values,
		ExclusiveStartKey:         s.next,
		ScanIndexForward:          aws.Bool(false),
		ReturnConsumedCapacity:    types.ReturnConsumedCapacityNone,
	}
	if q.plan.index == "" {
		in.ConsistentRead = aws.Bool(true)
	} else {
		in.IndexName = &q.plan.index
	}
	if len(q.plan.equal) == 0 {
		// A page needs no more of one shard; with filters the limit would count
		// what they drop.
		in.Limit = aws.Int32(int32(q.size + 1))
	}
	return in
}
