// Command oapi signs a message and lists the requests by a client of oapi-codegen. It prints the signed message and the outcomes.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"warp-signature-aggregator/test/network/go-clients/gen/oapi"
)

func main() {
	client, err := oapi.NewClientWithResponses(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	request := oapi.AggregationRequest{Message: &os.Args[2]}
	signed, err := client.AggregateSignaturesWithResponse(ctx, "fuji", nil, request)
	if err != nil || signed.JSON201 == nil {
		log.Fatal(err, signed)
	}
	list, err := client.ListRequestsWithResponse(ctx, nil)
	if err != nil || list.JSON200 == nil {
		log.Fatal(err, list)
	}
	fmt.Println(signed.JSON201.SignedMessage)
	for _, record := range list.JSON200.Requests {
		fmt.Println(record.Outcome, record.EndedAt)
	}
}
