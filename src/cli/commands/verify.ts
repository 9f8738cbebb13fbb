import { settingsOf } from '../../aggregation/request/aggregation-request.ts';
import { expiryWarnings } from '../../aggregation/signers/delivery-warnings.ts';
import { basisOf, reportOn } from '../../aggregation/signers/message-verifier.ts';
import { presentAdvice } from '../../api/aggregation/delivery-records.ts';
import { parseOnlySigned, presentBasis, presentReport } from '../../api/messages/verification-record.ts';
import type { BlsBackend } from '../../bls/backends/bls-backend.ts';
import { loadBackend } from '../../bls/backends/load-backend.ts';
import { systemClock } from '../../lib/concurrency/clock.ts';
import { attempt, ParseError } from '../../lib/encoding/parse-error.ts';
import { inJson } from '../../lib/encoding/schema.ts';
import { DEFAULT_QUORUM_NUM } from '../../validators/quorum.ts';
import { verifySignedMessage } from '../../validators/verify-signed-message.ts';
import { type BlockchainID, parseHexOrCb58Id, type SubnetID } from '../../warp/ids.ts';
import { encodeSignedMessage, type SignedMessage } from '../../warp/signed-message.ts';
import { EXIT, type ExitCode, usageFailure } from '../io/exit-codes.ts';
import { type InputOptions, parseAddress, readHexInput } from '../io/input.ts';
import type { PChainSigners } from '../io/p-chain-signers.ts';
import { readSetFile, type SavedSet } from '../io/set-file.ts';
import { formatTable, percentOf, print, recordLines, styled } from '../io/text.ts';

export interface VerifyOptions extends InputOptions {
  readonly set?: string;
  readonly pChain?: string;
  readonly quorum?: number;
  readonly subnet?: string;
  readonly height?: number;
  readonly destination?: string;
  readonly networkId?: number;
  readonly timeout: number;
  readonly json?: boolean;
}

interface Expected extends SavedSet {
  readonly networkID: number;
  readonly quorumNum: bigint;
  /** How the validators were chosen, if the command has chosen them. */
  readonly chosen?: PChainSigners;
}

/** Prints whether a destination would accept a signed message. @throws {CommandFailure} */
export async function verify(given: string | undefined, options: VerifyOptions): Promise<ExitCode> {
  requireOneSource(options);
  const message = parseMessage(await readHexInput('the signed message', given, options));
  const { quorumNum } = settingsOf({ quorumNum: options.quorum === undefined ? undefined : BigInt(options.quorum) });
  const expected = await findExpected(message, quorumNum, options);
  const verdict = judge(message, expected, await loadBackend('noble'));
  print(options.json === true ? JSON.stringify(verdict, undefined, 2) : describe(verdict));
  return verdict.isValid ? EXIT.done : EXIT.no;
}

function requireOneSource({ set, pChain, subnet, height, destination, networkId }: VerifyOptions): void {
  if (set !== undefined && pChain !== undefined) {
    throw usageFailure('--set and --p-chain both choose the validators: give one of them');
  }
  if (set === undefined && pChain === undefined) {
    throw usageFailure('the validators are missing: give their set by --set FILE, or a P-Chain API by --p-chain URL');
  }
  if (set !== undefined && [subnet, height, destination].some((option) => option !== undefined)) {
    throw usageFailure('--subnet, --height and --destination choose a set with --p-chain; --set gives one');
  }
  if (pChain !== undefined && networkId !== undefined) {
    throw usageFailure('--network-id is for --set; with --p-chain the API reports the network ID');
  }
  if (pChain !== undefined) {
    parseAddress(pChain, '--p-chain', "the address of a node's API, such as https://api.avax.network");
  }
}

/** @throws {CommandFailure} */
export function parseMessage(bytes: Uint8Array): SignedMessage {
  const message = attempt(() => parseOnlySigned(bytes, 'the message'));
  if (!(message instanceof ParseError)) return message;
  throw usageFailure(`not a signed message: ${message.what} ${message.reason}`, { cause: message });
}

async function findExpected(
  message: SignedMessage,
  quorumNum: bigint | undefined,
  options: VerifyOptions,
): Promise<Expected> {
  const { set, pChain = '', height, networkId } = options;
  if (set !== undefined) {
    const networkID = networkId ?? message.unsignedMessage.networkID;
    return { ...(await readSetFile(set)), networkID, quorumNum: quorumNum ?? DEFAULT_QUORUM_NUM };
  }
  // Loads the HTTP client.
  const { askPChainSigners } = await import('../io/p-chain-signers.ts');
  const timeoutMs = 1_000 * options.timeout;
  const chosen = await askPChainSigners(
    pChain,
    {
      message,
      quorumNum,
      signingSubnetID: parseID<SubnetID>('--subnet', options.subnet),
      destinationChainID: parseID<BlockchainID>('--destination', options.destination),
      pChainHeight: height === undefined ? undefined : BigInt(height),
    },
    { timeoutMs, signal: AbortSignal.timeout(timeoutMs) },
  );
  return { ...chosen, chosen };
}

function parseID<T extends SubnetID | BlockchainID>(option: string, text: string | undefined): T | undefined {
  return text === undefined ? undefined : parseHexOrCb58Id<T>(text, option);
}

/** Returns the response of the service, without fields that a set in a file does not have. */
export function judge(
  message: SignedMessage,
  { signingSubnetID, pChainHeight, chosen, ...expected }: Expected,
  backend: BlsBackend,
) {
  const verification = verifySignedMessage(encodeSignedMessage(message), expected, backend);
  const reason = verification.kind === 'valid' ? undefined : verification.reason;
  if (reason === 'malformed') throw new Error('an encoded message is malformed');
  const report = reportOn(message, expected, reason);
  const nowMs = systemClock.now();
  const basis = chosen && presentBasis(basisOf(chosen, report.signedWeight, nowMs));
  const ofExpiry = { epoch: undefined, warnings: expiryWarnings(message.unsignedMessage, nowMs) };
  return presentReport(
    message,
    report,
    inJson({
      signingSubnetId: signingSubnetID,
      pChainHeight: pChainHeight === undefined ? undefined : Number(pChainHeight),
      ...(basis === undefined && presentAdvice(ofExpiry)),
      ...basis,
    }),
  );
}

function describe(verdict: ReturnType<typeof judge>): string {
  const { isValid, problem, signers, payload, signedWeight, neededWeight, totalWeight, quorumPercentage, ...rest } =
    verdict;
  const { warnings = [], ...message } = rest;
  const title = problem === undefined ? styled('green', 'valid') : `${styled('red', 'not valid')}: ${problem.text}`;
  const share = percentOf(BigInt(signedWeight), BigInt(totalWeight));
  const rows = signers.map(({ index, weight, nodeIds }) => [String(index), weight, nodeIds.join(', ')]);
  const table = signers.length === 0 ? [] : formatTable([['bit', 'weight', 'signer'], ...rows], new Set([0, 1]));
  return [
    title,
    `${isValid ? 'signed by' : 'names'} ${share} of the weight (${signedWeight} of ${totalWeight}); the quorum of ${quorumPercentage} % is ${neededWeight}`,
    ...warnings.map((warning) => `${styled('yellow', 'warning')}: ${warning.message}`),
    ...recordLines({ ...message, payload }, '  '),
    ...table.map((line, index) => `  ${index === 0 ? styled('dim', line) : line}`),
  ].join('\n');
}
