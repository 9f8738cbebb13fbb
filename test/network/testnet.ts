import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { bigintAsString } from './json-rpc.ts';

/** A node's BLS key and the proof that it has it, as `info.getNodeID` gives them: hex with 0x. */
export interface NodePOP {
  readonly publicKey: string;
  readonly proofOfPossession: string;
}

export interface L1Validator {
  readonly nodeID: string;
  readonly nodePOP: NodePOP;
  readonly weight: bigint;
  /** In nAVAX; an active validator pays 512 of them a second. */
  readonly balance: bigint;
}

export interface SentMessage {
  /** The unsigned message, in hex with 0x; so is every field of that name. */
  readonly message: string;
  readonly txHash: string;
  readonly blockHeight: number;
}

export interface Verification {
  /** The reference's reason to refuse the message; empty if it accepts it. */
  readonly failure: string;
  /** The unsigned message within; null if the bytes are no signed message. */
  readonly message: string | null;
  readonly signerIDs: readonly string[];
}

export interface ReadMessage {
  /** Whether the chain found the message valid; if so, the others are what it read. */
  readonly valid: boolean;
  readonly sourceChainID?: string;
  readonly sourceAddress?: string;
  readonly payload?: string;
  readonly blockHash?: string;
}

export interface Conversion {
  readonly txID: string;
  /** The P-Chain's unsigned SubnetToL1Conversion. */
  readonly message: string;
  readonly justification: string;
  /** Validation IDs by NodeID. */
  readonly validationIDs: Readonly<Record<string, string>>;
}

/** The methods of `go/cmd/testnet`: parameters, without the node's `uri`, and result. IDs are cb58, bytes hex. */
export interface ChainMethods {
  createSubnet: [params: object, result: { subnetID: string }];
  createEVMChain: [
    params: { subnetID: string; name: string; evmChainID: number; requirePrimaryNetworkSigners?: boolean | undefined },
    result: { blockchainID: string },
  ];
  /** The validator manager is the account that `sendWarpMessages` sends from, on the chain `managerChainID`. */
  convertSubnetToL1: [
    params: { subnetID: string; managerChainID: string; validators: readonly L1Validator[] },
    result: Conversion,
  ];
  registerL1Validator: [
    params: { signedMessage: string; proofOfPossession: string; balance: bigint },
    result: { txID: string },
  ];
  setL1ValidatorWeight: [params: { signedMessage: string }, result: { txID: string }];
  disableL1Validator: [params: { validationID: string }, result: { txID: string }];
  increaseL1ValidatorBalance: [params: { validationID: string; balance: bigint }, result: { txID: string }];
  /** One small transaction: the P-Chain makes a block only where there is something to put into it. */
  advancePChain: [params: object, result: object];
  /**
   * Makes so many UTXOs of one µAVAX for an owner (20 bytes in hex), in one X-Chain transaction: at most some 800.
   * The owner must not be the key that pays.
   */
  payOnXChain: [params: { owner: string; outputs: number }, result: { txID: string }];
  /** Emits one Warp message for each payload (hex); returns when this one node has accepted them. */
  sendWarpMessages: [params: { blockchainID: string; payloads: readonly string[] }, result: readonly SentMessage[]];
  /**
   * Signs transactions that each emit a Warp message, and does not send them, so that their hashes are known before. They are to be sent in
   * this order, and no others meanwhile.
   */
  signWarpMessages: [
    params: { blockchainID: string; payloads: readonly string[] },
    result: readonly { readonly txHash: string; readonly rawTransaction: string }[],
  ];
  /** Creates a contract, whose creation emits a message for each payload. */
  createContract: [
    params: { blockchainID: string; payloads: readonly string[] },
    result: {
      readonly txHash: string;
      readonly messages: readonly { readonly message: string; readonly logIndex: number }[];
    },
  ];
  blockHashMessage: [params: { blockchainID: string; height: number }, result: { message: string; blockHash: string }];
  /** Has the chain read the signed message through its Warp precompile, in a transaction that this one accepts. */
  readWarpMessage: [params: { blockchainID: string; signedMessage: string }, result: ReadMessage];
  /** The payload as the P-Chain sends it. */
  pChainMessage: [params: { payload: string }, result: { message: string }];
  /** The reference's `BitSetSignature.Verify` against the node's own canonical set of the subnet at the height. */
  verify: [
    params: {
      signedMessage: string;
      subnetID: string;
      height: bigint | 'proposed';
      quorumNum: number;
      quorumDen: number;
    },
    result: Verification,
  ];
}

export interface PureMethods {
  registerL1ValidatorPayload: [
    params: { subnetID: string; nodeID: string; nodePOP: NodePOP; expiry: bigint; weight: bigint },
    result: { payload: string; validationID: string },
  ];
  l1ValidatorWeightPayload: [
    params: { validationID: string; nonce: bigint; weight: bigint },
    result: { payload: string },
  ];
  /** Kills the process group when this process ends; call `unguard` as soon as the group has ended. */
  guard: [params: { pid: number }, result: object];
  unguard: [params: { pid: number }, result: object];
}

/** The helper that issues transactions and verifies with the reference implementation. */
export interface Testnet extends AsyncDisposable {
  /** @param uri the API of the node to use */
  onNode<M extends keyof ChainMethods>(uri: string, method: M, params: ChainMethods[M][0]): Promise<ChainMethods[M][1]>;
  call<M extends keyof PureMethods>(method: M, params: PureMethods[M][0]): Promise<PureMethods[M][1]>;
}

const MAX_LOG_CHARACTERS = 4_000;

/**
 * Starts the helper. It ends when its stdin does, so also when we are killed; then it kills what it guards and removes
 * the scratch directory.
 */
export function startTestnet(binary: string, scratchDir: string): Testnet {
  // A separate process group, so that a Ctrl-C in the terminal reaches this process first and the helper can clean up.
  const helper = spawn(binary, ['-scratch', scratchDir], {
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, TMPDIR: scratchDir },
  });
  const ended = once(helper, 'close').then(([code, signal]) => `${code ?? signal}`, String);
  let log = '';
  helper.stderr.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-MAX_LOG_CHARACTERS);
  });
  // The reason of a failed write is the helper's end, which rejects the call.
  helper.stdin.on('error', () => undefined);

  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  createInterface({ input: helper.stdout }).on('line', (line) => {
    const { id, result, error }: { id: number; result?: unknown; error?: string } = JSON.parse(line);
    if (error === undefined) waiting.get(id)?.resolve(result);
    else waiting.get(id)?.reject(new Error(error));
    waiting.delete(id);
  });

  let lastID = 0;
  /** The helper bounds each call by 60 s. */
  async function send(method: string, params: object): Promise<unknown> {
    lastID += 1;
    const call = Promise.withResolvers<unknown>();
    waiting.set(lastID, call);
    helper.stdin.write(`${JSON.stringify({ id: lastID, method, params }, bigintAsString)}\n`);
    void ended.then((how) => call.reject(new Error(`the testnet helper ended with ${how}:\n${log}`)));
    try {
      return await call.promise;
    } catch (cause) {
      throw new Error(`${method}: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    }
  }

  return {
    onNode: <M extends keyof ChainMethods>(uri: string, method: M, params: ChainMethods[M][0]) =>
      send(method, { uri, ...params }) as Promise<ChainMethods[M][1]>,
    call: <M extends keyof PureMethods>(method: M, params: PureMethods[M][0]) =>
      send(method, params) as Promise<PureMethods[M][1]>,
    async [Symbol.asyncDispose]() {
      helper.stdin.end();
      await ended;
    },
  };
}
