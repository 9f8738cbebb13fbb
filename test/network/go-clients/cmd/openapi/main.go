// Command openapi signs a message and lists the requests by a client of openapi-generator. It prints the signed message and the outcomes.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"warp-signature-aggregator/test/network/go-clients/gen/openapi"
)

func main() {
	configuration := openapi.NewConfiguration()
	configuration.Servers = openapi.ServerConfigurations{{URL: os.Args[1]}}
	client := openapi.NewAPIClient(configuration)
	ctx := context.Background()
	request := openapi.AggregationRequest{Message: &os.Args[2]}
	signed, _, err := client.SignatureAggregationAPI.AggregateSignatures(ctx, "fuji").AggregationRequest(request).Execute()
	if err != nil {
		log.Fatal(err)
	}
	list, _, err := client.RequestsAPI.ListRequests(ctx).Execute()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(signed.SignedMessage)
	for _, record := range list.Requests {
		fmt.Println(record.Outcome, record.EndedAt)
	}
}
