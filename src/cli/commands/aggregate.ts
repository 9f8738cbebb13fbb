import type { Static } from 'typebox';
import { settingsOf } from '../../aggregation/request/aggregation-request.ts';
import type { DeliveryAdvice } from '../../aggregation/signers/delivery-advice.ts';
import { MergedProgress } from '../../api/aggregation/merged-progress.ts';
import {
  type AggregationBody,
  parseAggregationRequest,
  parseTransactionRequest,
  type TransactionQuery,
} from '../../api/aggregation/parse-aggregation-request.ts';
import { presentSigned, SignedMessageBody } from '../../api/aggregation/signed-message-record.ts';
import { bytesToHex } from '../../lib/encoding/bytes.ts';
import { attempt, ParseError } from '../../lib/encoding/parse-error.ts';
import { accessListOf } from '../../pchain/codec/access-list.ts';
import { loggedMessage } from '../../pchain/codec/logged-message.ts';
import { DEFAULT_QUORUM_NUM } from '../../validators/quorum.ts';
import { parseUnsignedMessage } from '../../warp/unsigned-message.ts';
import { EXIT, type ExitCode, usageFailure } from '../io/exit-codes.ts';
import { type InputOptions, readHexInput } from '../io/input.ts';
import type { ProgressBar } from '../io/progress-bar.ts';
import type { ServiceClient } from '../io/service-client.ts';
import { percentOf, print, styled } from '../io/text.ts';
import { askSource, type OwnCall, type SourceOptions } from './source.ts';

export interface AggregateCommandOptions extends InputOptions, SourceOptions {
  readonly transaction?: string;
  readonly chain?: string;
  readonly logIndex?: string;
  readonly justification?: string;
  readonly quorum?: number;
  readonly buffer?: number;
  readonly subnet?: string;
  readonly height?: number;
  readonly destination?: string;
  readonly wait?: number;
  readonly format?: 'message' | 'access-list';
}

interface AggregateRequest {
  readonly transaction: { readonly id: string; readonly query: Static<typeof TransactionQuery> } | undefined;
  readonly body: Static<typeof AggregationBody>;
  readonly networkID: number | undefined;
}

/** Prints the signed message, or its access list. @throws {CommandFailure} */
export async function aggregate(given: string | undefined, options: AggregateCommandOptions): Promise<ExitCode> {
  const request = await readRequest(given, options);
  const signed = await askSource(options, {
    networkID: request.networkID,
    askService: (client, bar) => askService(request, options, client, bar),
    prepareOwn: () => prepareOwn(request, options),
  });
  if (options.json === true) print(JSON.stringify(signed, undefined, 2));
  else {
    for (const { message } of signed.warnings ?? []) {
      process.stderr.write(`${styled('yellow', 'warning', process.stderr)}: ${message}\n`);
    }
    if (process.stderr.isTTY) process.stderr.write(`${summary(signed)}\n`);
    print(options.format === 'access-list' ? JSON.stringify(accessListOf(signed.signedMessage)) : signed.signedMessage);
  }
  return EXIT.done;
}

function summary({ signedWeight, totalWeight, signers, signingSubnetId, pChainHeight }: SignedMessageBody): string {
  const share = percentOf(BigInt(signedWeight), BigInt(totalWeight));
  const of = `of subnet ${signingSubnetId} at P-Chain height ${pChainHeight}`;
  return `${styled('green', 'signed', process.stderr)} by ${signers.length} validators with ${share} of the weight ${of}`;
}

async function readRequest(given: string | undefined, options: AggregateCommandOptions): Promise<AggregateRequest> {
  const { transaction: id, chain, logIndex, destination } = options;
  const { justification, quorum, buffer, subnet, height, file } = options;
  const settings = {
    ...(quorum !== undefined && { quorumPercentage: quorum }),
    ...(buffer !== undefined && { quorumPercentageBuffer: buffer }),
    ...(subnet !== undefined && { signingSubnetId: subnet }),
    ...(height !== undefined && { pChainHeight: height }),
    ...(destination !== undefined && { destinationBlockchainId: destination }),
  };
  if (id === undefined && (chain ?? logIndex) !== undefined) {
    throw usageFailure('--chain and --log-index are about a transaction: give its hash by --tx');
  }
  if (id !== undefined) {
    if ([given, file, justification].some((option) => option !== undefined)) {
      throw usageFailure('--tx has its message and justification: give neither them nor --file');
    }
    const query = {
      ...(chain !== undefined && { blockchainId: chain }),
      ...(logIndex !== undefined && { logIndex }),
      ...settings,
    };
    return { transaction: { id, query }, body: {}, networkID: undefined };
  }
  // With a justification alone, the service finds the message, and standard input is read only for the argument `-`.
  const hasMessage = given !== undefined || file !== undefined || justification === undefined;
  const message = hasMessage ? unwrapLog(await readHexInput('the unsigned message', given, options)) : undefined;
  const parsed = message && attempt(() => parseUnsignedMessage(message));
  return {
    transaction: undefined,
    body: {
      ...(message && { message: bytesToHex(message) }),
      ...(justification !== undefined && { justification }),
      ...settings,
    },
    networkID: parsed instanceof ParseError ? undefined : parsed?.networkID,
  };
}

/** @throws {CommandFailure} if the bytes begin like the data of a log, but are none */
function unwrapLog(bytes: Uint8Array): Uint8Array {
  const logged = attempt(() => loggedMessage(bytes, 'the message'));
  if (logged instanceof ParseError) throw usageFailure(`${logged.what} ${logged.reason}`, { cause: logged });
  return logged ?? bytes;
}

async function askService(
  { transaction, body, networkID }: AggregateRequest,
  { network: name, wait }: Pick<AggregateCommandOptions, 'network' | 'wait'>,
  client: ServiceClient,
  { onEvent }: ProgressBar,
): Promise<SignedMessageBody> {
  const path = `${await client.networkPath(name, networkID)}/aggregateSignatures`;
  const given = Object.entries({ ...transaction?.query, ...(wait !== undefined && { wait }) });
  const query = new URLSearchParams(given.map(([parameter, value]) => [parameter, String(value)])).toString();
  const suffix = query === '' ? '' : `?${query}`;
  if (transaction === undefined) {
    return client.follow({ path: `${path}${suffix}`, body }, SignedMessageBody, onEvent);
  }
  const ofTransaction = `${path}/${encodeURIComponent(transaction.id)}${suffix}`;
  return client.follow({ path: ofTransaction }, SignedMessageBody, onEvent);
}

function prepareOwn(
  { transaction, body }: AggregateRequest,
  { wait = 0 }: Pick<AggregateCommandOptions, 'wait'>,
): OwnCall<SignedMessageBody> {
  const request =
    transaction === undefined
      ? parseAggregationRequest(body)
      : parseTransactionRequest(transaction.id, transaction.query);
  const { quorumNum = DEFAULT_QUORUM_NUM, quorumBuffer } = settingsOf(request);
  return async (network, signal, bar) => {
    const progress = new MergedProgress({
      network: network.name,
      quorumPercentage: Number(quorumNum),
      quorumPercentageBuffer: Number(quorumBuffer),
    });
    let advice: DeliveryAdvice | undefined;
    const result = await network.aggregator.aggregate(request, {
      signal,
      waitMs: 1_000 * wait,
      onResolved(plan) {
        progress.quorumPercentage = Number(plan.quorumNum);
      },
      onAdvice(given) {
        advice = given;
      },
      onProgress(event) {
        progress.add(event);
        for (const merged of progress.take()) bar.onEvent(merged);
      },
    });
    return presentSigned(result, advice);
  };
}
