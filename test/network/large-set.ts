import { createServer, type ServerResponse, request as sendRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { AggregationEvent, ValidatorRecord } from '../../src/api/progress-records.ts';

/** Between two writes: as answers come from a network, and not all at once. */
const STEP_MS = 16;

export interface LargeSet extends AsyncDisposable {
  readonly origin: string;
}

/**
 * The service at `target`, but that each aggregation is one of so many validators, who answer in the course of some seconds. To run
 * as many takes a machine of its own; the page sees no difference.
 */
export async function serveLargeSet(target: string, count: number): Promise<LargeSet> {
  const running = new AbortController();
  const server = createServer((request, response) => {
    if (request.method === 'POST' && request.url?.endsWith('/aggregateSignatures') === true) {
      request.resume();
      void stream(response, count, running.signal);
      return;
    }
    const passed = sendRequest(
      `${target}${request.url}`,
      { method: request.method, headers: request.headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    passed.on('error', () => response.destroy());
    request.pipe(passed);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      running.abort();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function stream(response: ServerResponse, count: number, signal: AbortSignal): Promise<void> {
  const validators = Array.from(
    { length: count },
    (_, index): ValidatorRecord => ({
      index,
      nodeIds: [`NodeID-${String(index).padStart(33, 'x')}`],
      // A few have as much as hundreds of others together, as on the public networks.
      weight: String(Math.round(3_000_000 / (1 + index / 20))),
      isConnected: index % 9 !== 0,
      status: 'waiting',
    }),
  );
  const totalWeight = validators.reduce((sum, { weight }) => sum + Number(weight), 0);
  const weights = {
    totalWeight: String(totalWeight),
    quorumWeight: String(Math.ceil(totalWeight * 0.67)),
    targetWeight: String(Math.ceil(totalWeight * 0.67)),
  };
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const send = ({ event, data }: AggregationEvent) =>
    response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  send({
    event: 'resolved',
    data: {
      ...weights,
      network: 'local',
      signingSubnetId: '11111111111111111111111111111111LpoYY',
      pChainHeight: '1',
      quorumPercentage: 67,
      quorumPercentageBuffer: 0,
      signedWeight: '0',
      isVerifying: false,
      validators,
    },
  });
  send({ event: 'asked', data: { validators: validators.map(({ index }) => index) } });
  let signedWeight = 0;
  for (let at = 0; at < count && !signal.aborted && !response.destroyed; at += 16) {
    const part = validators.slice(at, at + 16);
    const answers = part.map(({ index, weight }) => ({
      index,
      weight,
      outcome: index % 9 === 0 ? ('unreachable' as const) : ('signed' as const),
    }));
    for (const { weight, outcome } of answers) if (outcome === 'signed') signedWeight += Number(weight);
    send({ event: 'answer', data: { answers } });
    send({ event: 'progress', data: { ...weights, signedWeight: String(signedWeight) } });
    await new Promise((resolve) => setTimeout(resolve, STEP_MS));
  }
  send({ event: 'verifying', data: {} });
  send({
    event: 'result',
    data: {
      signedMessage: 'ab'.repeat(400),
      pChainHeight: 1,
      signingSubnetId: '11111111111111111111111111111111LpoYY',
      signedWeight: String(signedWeight),
      totalWeight: weights.totalWeight,
      signers: validators.flatMap(({ nodeIds }) => nodeIds),
    },
  });
  response.end();
}
