package dynamo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/oklog/ulid/v2"
	"golang.org/x/sync/errgroup"

	"mcprelay/shared/catalog"
)

const (
	// catalogWrites is how many items of a catalog are written or removed at
	// once: a partition takes 1,000 units a second, and a tool of 8 KB is 8.
	catalogWrites = 8
	// abandoned is when the items of a generation that does not hold are those
	// of a writer that was killed: no function runs longer than 15 minutes.
	abandoned = time.Hour
)

// PutCatalog replaces the catalog of a server, while the stored one still has
// its Version, 0 for none, and gives it with its new one, or
// [catalog.ErrConflict]. A reader finds the one before or this one, never a part
// of it. A descriptor that no item can hold is [ErrTooLarge], which names it.
func (s *Store) PutCatalog(ctx context.Context, tenant, server string, c catalog.Catalog) (catalog.Catalog, error) {
	w := &replacement{store: s, tenant: tenant, server: server, generation: ulid.Make().String()}
	err := w.pack(c)
	if err == nil {
		err = w.replace(ctx, c.Version)
	}
	if err != nil {
		return catalog.Catalog{}, fmt.Errorf("catalog of %.64q: %w", server, err)
	}
	c.Version++
	return c, nil
}

// replacement is a catalog on its way into the table.
type replacement struct {
	store          *Store
	tenant, server string
	generation     string
	active         item
	parts          []item
}

// pack makes the items, or says why the catalog cannot be kept.
func (w *replacement) pack(c catalog.Catalog) error {
	if w.tenant == "" || w.server == "" {
		return errors.New("it has no tenant or no server")
	}
	entries := c.Entries()
	if err := catalog.InBounds(entries, ErrTooLarge); err != nil {
		return err
	}
	w.active = catalogKey(w.tenant, w.server, sortActive)
	w.active.text(attrGeneration, w.generation)
	w.active.number(attrFormat, catalogFormat)
	w.active.number(attrCount, int64(len(entries)+1))
	w.active.number(attrRev, c.Version+1)
	if err := w.active.packJSON(c); err != nil {
		return fmt.Errorf("what was left out of it: %w", err)
	}
	pins := w.part(c)
	pins.text(attrList, listPins)
	if err := pins.packJSON(c.Pins); err != nil {
		return fmt.Errorf("its pins: %w", err)
	}
	for _, e := range entries {
		i := w.part(c)
		i.text(attrList, string(e.List))
		i.text(attrTool, e.Name)
		i.text(attrDigest, e.Digest)
		if err := i.pack(e.Raw); err != nil {
			return fmt.Errorf("%.128q of its %s: %w", e.Name, e.List, err)
		}
	}
	return nil
}

// part begins the next item of the generation.
func (w *replacement) part(c catalog.Catalog) item {
	i := catalogKey(w.tenant, w.server, partition(sortPart+w.generation, fmt.Sprintf("%05d", len(w.parts))))
	i.number(attrRev, c.Version+1)
	w.parts = append(w.parts, i)
	return i
}

// replace writes the parts, then makes them the ones that hold, then removes
// those that held before.
func (w *replacement) replace(ctx context.Context, was int64) error {
	s := w.store
	before, err := s.get(ctx, s.c.Registry, catalogKey(w.tenant, w.server, sortActive))
	if err == nil && before.getNumber(attrRev) != was {
		err = catalog.ErrConflict
	}
	if err != nil {
		return err
	}
	err = each(ctx, w.parts, func(ctx context.Context, i item) error { return s.put(ctx, s.c.Registry, i, absent()) })
	if err != nil {
		return err
	}
	c := absent()
	if was != 0 {
		c = still(attrRev, was)
	}
	switch err = s.put(ctx, s.c.Registry, w.active, c); {
	case errors.Is(err, errCondition):
		// What cannot be removed now, the next replacement removes.
		_ = each(ctx, w.parts, s.removeCatalogItem)
		return catalog.ErrConflict
	case err != nil:
		return err // the write may have been done: its parts stay
	}
	_ = w.sweep(ctx, before.getText(attrGeneration))
	return nil
}

// sweep removes the generation that held before, and what writers left behind
// that were killed. That it fails costs space until the next replacement.
func (w *replacement) sweep(ctx context.Context, before string) error {
	s := w.store
	values := item{":pk": w.active[attrPK]}
	all, err := s.query(ctx, &dynamodb.QueryInput{
		TableName:                 &s.c.Registry,
		ConsistentRead:            aws.Bool(true),
		KeyConditionExpression:    aws.String("#pk = :pk"),
		ProjectionExpression:      aws.String("#pk, #sk, #gen"),
		ExpressionAttributeNames:  map[string]string{"#pk": attrPK, "#sk": attrSK, "#gen": attrGeneration},
		ExpressionAttributeValues: values,
	})
	if err != nil {
		return err
	}
	holds, oldest := "", s.c.Now().Add(-abandoned)
	var gone []item
	for _, i := range all { // ACTIVE sorts first
		_, sort, isPart := strings.Cut(i.getText(attrSK), "#")
		generation, _, _ := strings.Cut(sort, "#")
		switch {
		case !isPart:
			holds = i.getText(attrGeneration)
		case generation == before, generation != holds && timeOf(generation).Before(oldest):
			gone = append(gone, i)
		}
	}
	return each(ctx, gone, s.removeCatalogItem)
}

// removeCatalogItem removes one item of the registry table.
func (s *Store) removeCatalogItem(ctx context.Context, i item) error {
	_, err := s.c.DynamoDB.DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: &s.c.Registry, Key: item{attrPK: i[attrPK], attrSK: i[attrSK]},
	})
	return err
}

// each does the same with every item, some at once, and ends at an error.
func each(ctx context.Context, items []item, do func(context.Context, item) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(catalogWrites)
	for _, i := range items {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return do(ctx, i)
		})
	}
	return group.Wait()
}
