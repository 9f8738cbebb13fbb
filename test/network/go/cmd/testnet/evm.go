package main

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"sync"
	"time"

	"github.com/ava-labs/avalanchego/api/info"
	"github.com/ava-labs/avalanchego/genesis"
	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/vms/evm/predicate"
	"github.com/ava-labs/avalanchego/vms/platformvm/warp"
	"github.com/ava-labs/avalanchego/vms/platformvm/warp/payload"
	"github.com/ava-labs/libevm"
	"github.com/ava-labs/libevm/common"
	"github.com/ava-labs/libevm/common/hexutil"
	"github.com/ava-labs/libevm/core/types"
	"github.com/ava-labs/libevm/core/vm"
	"github.com/ava-labs/libevm/ethclient"

	precompile "github.com/ava-labs/avalanchego/graft/subnet-evm/precompile/contracts/warp"
)

const (
	// receiptPoll is short beside the second that an EVM block takes.
	receiptPoll = 50 * time.Millisecond
	// sendGas pays for a message of some kilobytes; readGas also for its signature and for storing it as code.
	sendGas = 500_000
	readGas = 3_000_000
)

// feeCap is far above any base fee of an idle chain.
var feeCap = big.NewInt(1_000_000_000_000)

var errNoMessage = errors.New("the transaction logged no Warp message")

// evmChains issues transactions on EVM chains as the account of the well-known key, one at a time because of its nonce.
type evmChains struct {
	mu sync.Mutex
}

func dialEVM(ctx context.Context, uri string, blockchainID ids.ID) (*ethclient.Client, error) {
	return ethclient.DialContext(ctx, fmt.Sprintf("%s/ext/bc/%s/rpc", uri, blockchainID))
}

// signEVM signs transactions with successive nonces.
func signEVM(ctx context.Context, client *ethclient.Client, txs []types.DynamicFeeTx) ([]*types.Transaction, error) {
	chainID, err := client.ChainID(ctx)
	if err != nil {
		return nil, err
	}
	nonce, err := client.PendingNonceAt(ctx, genesis.EWOQKey.EthAddress())
	if err != nil {
		return nil, err
	}

	signed := make([]*types.Transaction, len(txs))
	for i := range txs {
		txs[i].ChainID = chainID
		txs[i].Nonce = nonce + uint64(i)
		txs[i].GasFeeCap = feeCap
		txs[i].GasTipCap = common.Big1
		signed[i], err = types.SignNewTx(genesis.EWOQKey.ToECDSA(), types.LatestSignerForChainID(chainID), &txs[i])
		if err != nil {
			return nil, err
		}
	}
	return signed, nil
}

// issueEVM signs and sends transactions with successive nonces and waits until each one is accepted.
func issueEVM(ctx context.Context, client *ethclient.Client, txs []types.DynamicFeeTx) ([]*types.Receipt, error) {
	signed, err := signEVM(ctx, client, txs)
	if err != nil {
		return nil, err
	}
	for _, tx := range signed {
		if err := client.SendTransaction(ctx, tx); err != nil {
			return nil, err
		}
	}

	receipts := make([]*types.Receipt, len(signed))
	for i, tx := range signed {
		if receipts[i], err = awaitReceipt(ctx, client, tx.Hash()); err != nil {
			return nil, err
		}
	}
	return receipts, nil
}

func awaitReceipt(ctx context.Context, client *ethclient.Client, hash common.Hash) (*types.Receipt, error) {
	ticker := time.NewTicker(receiptPoll)
	defer ticker.Stop()
	for {
		receipt, err := client.TransactionReceipt(ctx, hash)
		if err == nil {
			return receipt, nil
		}
		if !errors.Is(err, ethereum.NotFound) {
			return nil, fmt.Errorf("receipt of %s: %w", hash, err)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("receipt of %s: %w", hash, ctx.Err())
		case <-ticker.C:
		}
	}
}

type sendParams struct {
	URI          string     `json:"uri"`
	BlockchainID ids.ID     `json:"blockchainID"`
	Payloads     []hexBytes `json:"payloads"`
}

type sentMessage struct {
	Message     hexBytes    `json:"message"`
	TxHash      common.Hash `json:"txHash"`
	BlockHeight uint64      `json:"blockHeight"`
}

// sendWarpMessages emits one Warp message for each payload and waits until the node has accepted them all.
func (e *evmChains) sendWarpMessages(ctx context.Context, params sendParams) ([]sentMessage, error) {
	client, err := dialEVM(ctx, params.URI, params.BlockchainID)
	if err != nil {
		return nil, err
	}
	defer client.Close()

	transactions, err := sendTransactions(params.Payloads)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	receipts, err := issueEVM(ctx, client, transactions)
	if err != nil {
		return nil, err
	}

	sent := make([]sentMessage, len(receipts))
	for i, receipt := range receipts {
		if receipt.Status != types.ReceiptStatusSuccessful || len(receipt.Logs) != 1 {
			return nil, fmt.Errorf("%w: %s", errNoMessage, receipt.TxHash)
		}
		unsigned, err := precompile.UnpackSendWarpEventDataToMessage(receipt.Logs[0].Data)
		if err != nil {
			return nil, err
		}
		sent[i] = sentMessage{
			Message:     unsigned.Bytes(),
			TxHash:      receipt.TxHash,
			BlockHeight: receipt.BlockNumber.Uint64(),
		}
	}
	return sent, nil
}

func sendTransactions(payloads []hexBytes) ([]types.DynamicFeeTx, error) {
	transactions := make([]types.DynamicFeeTx, len(payloads))
	for i, p := range payloads {
		data, err := precompile.PackSendWarpMessage(p)
		if err != nil {
			return nil, err
		}
		transactions[i] = types.DynamicFeeTx{To: &precompile.ContractAddress, Gas: sendGas, Data: data}
	}
	return transactions, nil
}

type signedTransaction struct {
	TxHash         common.Hash `json:"txHash"`
	RawTransaction hexBytes    `json:"rawTransaction"`
}

// signWarpMessages signs a transaction for each payload, which emits it as a Warp message, and does not send them: their hashes are known
// before. The caller sends them in this order, and no others meanwhile.
func (e *evmChains) signWarpMessages(ctx context.Context, params sendParams) ([]signedTransaction, error) {
	client, err := dialEVM(ctx, params.URI, params.BlockchainID)
	if err != nil {
		return nil, err
	}
	defer client.Close()

	transactions, err := sendTransactions(params.Payloads)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	signed, err := signEVM(ctx, client, transactions)
	if err != nil {
		return nil, err
	}
	result := make([]signedTransaction, len(signed))
	for i, tx := range signed {
		raw, err := tx.MarshalBinary()
		if err != nil {
			return nil, err
		}
		result[i] = signedTransaction{TxHash: tx.Hash(), RawTransaction: raw}
	}
	return result, nil
}

type loggedMessage struct {
	Message  hexBytes `json:"message"`
	LogIndex uint     `json:"logIndex"`
}

type contractResult struct {
	TxHash   common.Hash     `json:"txHash"`
	Messages []loggedMessage `json:"messages"`
}

// createContract creates a contract in a transaction that emits one Warp message for each payload, and waits until the node has
// accepted it.
func (e *evmChains) createContract(ctx context.Context, params sendParams) (contractResult, error) {
	client, err := dialEVM(ctx, params.URI, params.BlockchainID)
	if err != nil {
		return contractResult{}, err
	}
	defer client.Close()

	code, err := sendOnCreation(params.Payloads)
	if err != nil {
		return contractResult{}, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	receipts, err := issueEVM(ctx, client, []types.DynamicFeeTx{{Gas: sendGas, Data: code}})
	if err != nil {
		return contractResult{}, err
	}

	result := contractResult{TxHash: receipts[0].TxHash}
	for _, entry := range receipts[0].Logs {
		unsigned, err := precompile.UnpackSendWarpEventDataToMessage(entry.Data)
		if err != nil {
			return contractResult{}, err
		}
		result.Messages = append(result.Messages, loggedMessage{Message: unsigned.Bytes(), LogIndex: entry.Index})
	}
	return result, nil
}

// sendOnCreation is creation code that calls sendWarpMessage for each payload. The calls' data follow the code.
func sendOnCreation(payloads []hexBytes) ([]byte, error) {
	calls := make([][]byte, len(payloads))
	for i, p := range payloads {
		var err error
		if calls[i], err = precompile.PackSendWarpMessage(p); err != nil {
			return nil, err
		}
	}
	build := func(dataOffset int) (code []byte) {
		for _, call := range calls {
			length := push(byte(len(call)>>8), byte(len(call)))
			code = concat(
				code, length, push(byte(dataOffset>>8), byte(dataOffset)), push(0), op(vm.CODECOPY),
				push(0), push(0), length, push(0), push(0), push(precompile.ContractAddress[:]...),
				op(vm.GAS, vm.CALL, vm.POP),
			)
			dataOffset += len(call)
		}
		return concat(code, push(0), push(0), op(vm.RETURN))
	}
	// The offsets in the code have the same length whatever their values.
	return concat(build(len(build(0))), concat(calls...)), nil
}

func push(word ...byte) []byte {
	return append([]byte{byte(vm.PUSH1) + byte(len(word)-1)}, word...)
}

func op(codes ...vm.OpCode) []byte {
	bytes := make([]byte, len(codes))
	for i, code := range codes {
		bytes[i] = byte(code)
	}
	return bytes
}

func concat(parts ...[]byte) (code []byte) {
	for _, part := range parts {
		code = append(code, part...)
	}
	return code
}

type blockHashParams struct {
	URI          string `json:"uri"`
	BlockchainID ids.ID `json:"blockchainID"`
	Height       uint64 `json:"height"`
}

type blockHashResult struct {
	Message   hexBytes    `json:"message"`
	BlockHash common.Hash `json:"blockHash"`
}

// blockHashMessage makes the message that says that the chain accepted the block it has at a height.
func (*evmChains) blockHashMessage(ctx context.Context, params blockHashParams) (blockHashResult, error) {
	client, err := dialEVM(ctx, params.URI, params.BlockchainID)
	if err != nil {
		return blockHashResult{}, err
	}
	defer client.Close()

	// Only the hash as the node gives it: these chains' headers have fields that the plain client does not know.
	var block *struct {
		Hash common.Hash `json:"hash"`
	}
	if err := client.Client().CallContext(ctx, &block, "eth_getBlockByNumber", hexutil.Uint64(params.Height), false); err != nil {
		return blockHashResult{}, err
	}
	if block == nil {
		return blockHashResult{}, fmt.Errorf("%s has no block %d", params.BlockchainID, params.Height)
	}

	networkID, err := info.NewClient(params.URI).GetNetworkID(ctx)
	if err != nil {
		return blockHashResult{}, err
	}
	hash, err := payload.NewHash(ids.ID(block.Hash))
	if err != nil {
		return blockHashResult{}, err
	}
	unsigned, err := warp.NewUnsignedMessage(networkID, params.BlockchainID, hash.Bytes())
	if err != nil {
		return blockHashResult{}, err
	}
	return blockHashResult{Message: unsigned.Bytes(), BlockHash: block.Hash}, nil
}

type readParams struct {
	URI string `json:"uri"`
	// BlockchainID is the chain that is to read the message.
	BlockchainID  ids.ID   `json:"blockchainID"`
	SignedMessage hexBytes `json:"signedMessage"`
}

type readResult struct {
	// Valid is whether the chain found the message valid; the other fields are what it then read.
	Valid         bool            `json:"valid"`
	SourceChainID *ids.ID         `json:"sourceChainID,omitempty"`
	SourceAddress *common.Address `json:"sourceAddress,omitempty"`
	Payload       hexBytes        `json:"payload,omitempty"`
	BlockHash     *common.Hash    `json:"blockHash,omitempty"`
}

// readWarpMessage has a chain read a signed message through its Warp precompile: the message is the predicate in the
// access list of a transaction that creates a contract, and what the precompile answers becomes the contract's code.
// So the code, as the chain stores it, is the message as the chain read it, and an invalid one leaves none.
func (e *evmChains) readWarpMessage(ctx context.Context, params readParams) (readResult, error) {
	client, err := dialEVM(ctx, params.URI, params.BlockchainID)
	if err != nil {
		return readResult{}, err
	}
	defer client.Close()

	signed, err := warp.ParseMessage(params.SignedMessage)
	if err != nil {
		return readResult{}, err
	}
	content, err := payload.Parse(signed.Payload)
	if err != nil {
		return readResult{}, err
	}
	_, isBlockHash := content.(*payload.Hash)

	// Where, in the answer, the word "valid" is: after the offset of a message, or after the two words of a block hash.
	method, validOffset := "getVerifiedWarpMessage", byte(0x20)
	if isBlockHash {
		method, validOffset = "getVerifiedWarpBlockHash", 0x40
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	receipts, err := issueEVM(ctx, client, []types.DynamicFeeTx{{
		Gas:  readGas,
		Data: storeAnswerAsCode(precompile.WarpABI.Methods[method].ID, validOffset),
		AccessList: types.AccessList{{
			Address:     precompile.ContractAddress,
			StorageKeys: predicate.New(params.SignedMessage),
		}},
	}})
	if err != nil {
		return readResult{}, err
	}
	receipt := receipts[0]
	result := readResult{Valid: receipt.Status == types.ReceiptStatusSuccessful}
	if !result.Valid {
		return result, nil
	}

	code, err := client.CodeAt(ctx, receipt.ContractAddress, receipt.BlockNumber)
	if err != nil {
		return readResult{}, err
	}
	if len(code) == 0 {
		return readResult{}, fmt.Errorf("%s created no code", receipt.TxHash)
	}
	answer := code[1:]
	if isBlockHash {
		read, err := precompile.UnpackGetVerifiedWarpBlockHashOutput(answer)
		if err != nil {
			return readResult{}, err
		}
		result.SourceChainID = (*ids.ID)(&read.WarpBlockHash.SourceChainID)
		result.BlockHash = &read.WarpBlockHash.BlockHash
		return result, nil
	}
	read, err := precompile.UnpackGetVerifiedWarpMessageOutput(answer)
	if err != nil {
		return readResult{}, err
	}
	result.SourceChainID = (*ids.ID)(&read.Message.SourceChainID)
	result.SourceAddress = &read.Message.OriginSenderAddress
	result.Payload = read.Message.Payload
	return result, nil
}

// storeAnswerAsCode is the creation code of a contract. It calls the Warp precompile's method for index 0 and reverts
// unless the call succeeds and the word at validOffset of the answer is 1. Else the answer becomes the contract's code,
// after a zero byte: code must not begin with 0xef, as a chain ID may.
func storeAnswerAsCode(selector []byte, validOffset byte) []byte {
	const answer = 0x20 // where the answer goes in memory; the byte before it stays zero
	check := concat(
		push(selector...), push(0xe0), op(vm.SHL), push(0), op(vm.MSTORE), // 4 bytes of selector, then zeros: index 0
		push(0), push(0), push(0x24), push(0), push(precompile.ContractAddress[:]...), op(vm.GAS, vm.STATICCALL),
		op(vm.RETURNDATASIZE), push(0), push(answer), op(vm.RETURNDATACOPY),
		push(answer+validOffset), op(vm.MLOAD, vm.AND),
	)
	const jumpAndRevert = 2 + 1 + 2 + 2 + 1 // bytes
	return concat(
		check,
		push(byte(len(check)+jumpAndRevert)), op(vm.JUMPI),
		push(0), push(0), op(vm.REVERT),
		op(vm.JUMPDEST),
		push(1), op(vm.RETURNDATASIZE, vm.ADD), push(answer-1), op(vm.RETURN),
	)
}
