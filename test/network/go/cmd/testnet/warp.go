package main

import (
	"context"
	"fmt"

	"github.com/ava-labs/avalanchego/api/info"
	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/utils/constants"
	"github.com/ava-labs/avalanchego/utils/set"
	"github.com/ava-labs/avalanchego/vms/platformvm"
	"github.com/ava-labs/avalanchego/vms/platformvm/api"
	"github.com/ava-labs/avalanchego/vms/platformvm/signer"
	"github.com/ava-labs/avalanchego/vms/platformvm/warp"
	"github.com/ava-labs/avalanchego/vms/platformvm/warp/message"
	"github.com/ava-labs/avalanchego/vms/platformvm/warp/payload"

	avajson "github.com/ava-labs/avalanchego/utils/json"
)

type registerPayloadParams struct {
	SubnetID ids.ID                   `json:"subnetID"`
	NodeID   ids.NodeID               `json:"nodeID"`
	NodePOP  signer.ProofOfPossession `json:"nodePOP"`
	// Expiry is in Unix seconds.
	Expiry avajson.Uint64 `json:"expiry"`
	Weight avajson.Uint64 `json:"weight"`
}

type registerPayloadResult struct {
	Payload      hexBytes `json:"payload"`
	ValidationID ids.ID   `json:"validationID"`
}

// registerL1ValidatorPayload makes what an L1's validator manager sends to have a validator registered.
func registerL1ValidatorPayload(_ context.Context, params registerPayloadParams) (registerPayloadResult, error) {
	register, err := message.NewRegisterL1Validator(
		params.SubnetID,
		params.NodeID,
		params.NodePOP.PublicKey,
		uint64(params.Expiry),
		pChainOwnerOfEverything(),
		pChainOwnerOfEverything(),
		uint64(params.Weight),
	)
	if err != nil {
		return registerPayloadResult{}, err
	}
	return registerPayloadResult{Payload: register.Bytes(), ValidationID: register.ValidationID()}, nil
}

type weightPayloadParams struct {
	ValidationID ids.ID         `json:"validationID"`
	Nonce        avajson.Uint64 `json:"nonce"`
	Weight       avajson.Uint64 `json:"weight"`
}

type weightPayloadResult struct {
	Payload hexBytes `json:"payload"`
}

// l1ValidatorWeightPayload makes what an L1's validator manager sends to change a weight (0 removes the validator), and
// what the P-Chain says once it has done so.
func l1ValidatorWeightPayload(_ context.Context, params weightPayloadParams) (weightPayloadResult, error) {
	weight, err := message.NewL1ValidatorWeight(params.ValidationID, uint64(params.Nonce), uint64(params.Weight))
	if err != nil {
		return weightPayloadResult{}, err
	}
	return weightPayloadResult{Payload: weight.Bytes()}, nil
}

type pChainMessageParams struct {
	URI     string   `json:"uri"`
	Payload hexBytes `json:"payload"`
}

type unsignedMessage struct {
	Message hexBytes `json:"message"`
}

func pChainMessage(ctx context.Context, params pChainMessageParams) (unsignedMessage, error) {
	networkID, err := info.NewClient(params.URI).GetNetworkID(ctx)
	if err != nil {
		return unsignedMessage{}, err
	}
	message, err := newPChainMessage(networkID, params.Payload)
	return unsignedMessage{Message: message}, err
}

// newPChainMessage wraps a payload as the P-Chain does: no source address, and its own chain ID.
func newPChainMessage(networkID uint32, content []byte) ([]byte, error) {
	call, err := payload.NewAddressedCall(nil, content)
	if err != nil {
		return nil, err
	}
	unsigned, err := warp.NewUnsignedMessage(networkID, constants.PlatformChainID, call.Bytes())
	if err != nil {
		return nil, err
	}
	return unsigned.Bytes(), nil
}

type verifyParams struct {
	URI           string   `json:"uri"`
	SignedMessage hexBytes `json:"signedMessage"`
	// SubnetID is the subnet whose validators are to have signed.
	SubnetID ids.ID `json:"subnetID"`
	// Height is a P-Chain height, or "proposed".
	Height    api.Height     `json:"height"`
	QuorumNum avajson.Uint64 `json:"quorumNum"`
	QuorumDen avajson.Uint64 `json:"quorumDen"`
}

type verifyResult struct {
	// Failure is the reference's reason to refuse the message, empty if it accepts it.
	Failure   string       `json:"failure"`
	Message   hexBytes     `json:"message"`
	SignerIDs []ids.NodeID `json:"signerIDs"`
}

// verify has the reference verify a signed message against the set of validators that the node itself would use.
// A message that does not parse, or names validators that do not exist, is a failure as well.
func verify(ctx context.Context, params verifyParams) (verifyResult, error) {
	networkID, err := info.NewClient(params.URI).GetNetworkID(ctx)
	if err != nil {
		return verifyResult{}, err
	}
	sets, err := platformvm.NewClient(params.URI).GetAllValidatorsAt(ctx, params.Height)
	if err != nil {
		return verifyResult{}, err
	}
	warpSet, ok := sets[params.SubnetID]
	if !ok {
		return verifyResult{}, fmt.Errorf("no active validators of %s at height %d", params.SubnetID, params.Height)
	}
	result := verifyResult{SignerIDs: []ids.NodeID{}}

	msg, err := warp.ParseMessage(params.SignedMessage)
	if err != nil {
		result.Failure = err.Error()
		return result, nil
	}
	result.Message = msg.UnsignedMessage.Bytes()
	if signature, ok := msg.Signature.(*warp.BitSetSignature); ok {
		bits := set.BitsFromBytes(signature.Signers)
		for i, validator := range warpSet.Validators {
			if bits.Contains(i) {
				result.SignerIDs = append(result.SignerIDs, validator.NodeIDs...)
			}
		}
	}
	if err := msg.Signature.Verify(
		&msg.UnsignedMessage,
		networkID,
		warpSet,
		uint64(params.QuorumNum),
		uint64(params.QuorumDen),
	); err != nil {
		result.Failure = err.Error()
	}
	return result, nil
}
