package dynamo

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// item is one item of a table.
type item map[string]types.AttributeValue

// text sets a text attribute; an empty one is left out.
func (i item) text(name, value string) {
	if value != "" {
		i[name] = &types.AttributeValueMemberS{Value: value}
	}
}

// number sets a number attribute.
func (i item) number(name string, value int64) {
	i[name] = &types.AttributeValueMemberN{Value: strconv.FormatInt(value, 10)}
}

// getText reads a text attribute, empty where there is none.
func (i item) getText(name string) string {
	if value, ok := i[name].(*types.AttributeValueMemberS); ok {
		return value.Value
	}
	return ""
}

// getNumber reads a number attribute, 0 where there is none.
func (i item) getNumber(name string) int64 {
	value, ok := i[name].(*types.AttributeValueMemberN)
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(value.Value, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// condition is a condition expression with what it names.
type condition struct {
	expression string
	names      map[string]string
	values     item
}

// absent is the condition that there is no item of the key.
func absent() condition {
	return condition{expression: "attribute_not_exists(#pk)", names: map[string]string{"#pk": attrPK}}
}

// still is the condition that a number of an item is what it was.
func still(attribute string, was int64) condition {
	c := condition{expression: "#was = :was", names: map[string]string{"#was": attribute}, values: item{}}
	c.values.number(":was", was)
	return c
}

// errCondition says that a write's condition did not hold.
var errCondition = errors.New("the condition of the write did not hold")

// markBytes makes two writes of one item with the same mark a matter of 2^96.
const markBytes = 12

// newMark is a mark that no other write has.
func newMark() *types.AttributeValueMemberB {
	mark := make([]byte, markBytes)
	// crypto/rand.Read never fails since Go 1.24.
	_, _ = rand.Read(mark)
	return &types.AttributeValueMemberB{Value: mark}
}

// has reports whether the write of a mark made the item.
func (i item) has(mark *types.AttributeValueMemberB) bool {
	its, ok := i[attrMark].(*types.AttributeValueMemberB)
	return ok && bytes.Equal(its.Value, mark.Value)
}

// put writes one item on a condition, or gives errCondition.
func (s *Store) put(ctx context.Context, table string, i item, c condition) error {
	_, err := s.place(ctx, table, i, c)
	return err
}

// place is put that gives, with errCondition, the item in the way. The SDK
// repeats a write whose answer was lost, and then finds its own item there:
// every write carries a mark, and an item that has it is this write's.
func (s *Store) place(ctx context.Context, table string, i item, c condition) (item, error) {
	mark := newMark()
	i[attrMark] = mark
	_, err := s.c.DynamoDB.PutItem(ctx, &dynamodb.PutItemInput{
		TableName:                 &table,
		Item:                      i,
		ConditionExpression:       &c.expression,
		ExpressionAttributeNames:  c.names,
		ExpressionAttributeValues: c.values,
	})
	var failed *types.ConditionalCheckFailedException
	if !errors.As(err, &failed) {
		return nil, err
	}
	key := item{attrPK: i[attrPK]}
	if sort, ok := i[attrSK]; ok {
		key[attrSK] = sort
	}
	stored, err := s.get(ctx, table, key)
	if err != nil {
		return nil, err
	}
	if stored.has(mark) {
		return nil, nil
	}
	return stored, errCondition
}

// get reads one item as it is now, nil where there is none.
func (s *Store) get(ctx context.Context, table string, key item) (item, error) {
	out, err := s.c.DynamoDB.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &table, Key: key, ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, err
	}
	return out.Item, nil
}
