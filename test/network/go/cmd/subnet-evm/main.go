// Command subnet-evm is the subnet-evm virtual machine as a plugin of a node. The stock plugin insists on 32,768 file
// descriptors and dies where the hard limit is lower; a network of five idle nodes needs nothing like it.
package main

import (
	"context"
	"log"

	"github.com/ava-labs/avalanchego/graft/subnet-evm/plugin/evm"
	"github.com/ava-labs/avalanchego/vms/rpcchainvm"
)

func main() {
	evm.RegisterAllLibEVMExtras()
	if err := rpcchainvm.Serve(context.Background(), &evm.VM{}); err != nil {
		log.Fatalf("subnet-evm plugin: %v", err)
	}
}
