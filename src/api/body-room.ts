import type { FastifyReply, FastifyRequest } from 'fastify';
import { FairRoom } from '../primitives/fair-room.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { clientOf } from './access.ts';
import { HttpError } from './http-error.ts';
import type { Server } from './http-server.ts';

/**
 * Bytes of large bodies under way, over all connections of a listener: 14 of the longest that are allowed. Each is in memory some four times
 * until its answer is there: as text, as the bytes of its message, and on its way to validators. Large messages are rare, and one
 * client's may still be that many that the last of them has its turn in time.
 */
const MAX_BYTES = 8 * 1024 * 1024;
/** What has less is not counted: a body of the usual size has 1 KB, and the requests themselves are bounded. */
const LARGE_BYTES = 16 * 1024;
/** How soon one of them may be over. */
const RETRY_AFTER_MS = 1_000;

/**
 * Large requests for which there is no room are refused before their bodies are read; to be registered after the keys, by which clients
 * are told apart.
 */
export function registerBodyRoom(server: Server, metrics: Metrics): void {
  const room = new FairRoom(MAX_BYTES);
  const refusals = metrics.counter({
    name: 'http_large_bodies_refused_total',
    help: 'Large requests refused before their bodies were read, as too many bytes of bodies were under way',
  });
  server.addHook('onRequest', (request, reply, done) => {
    const refusal = admit(room, request, reply);
    if (refusal !== undefined) refusals.inc();
    done(refusal);
  });
}

function admit(room: FairRoom, request: FastifyRequest, { raw }: FastifyReply): HttpError | undefined {
  const { config, bodyLimit } = request.route;
  // Calls that are passed on have a limit of 100 KB, and wait in lines of bounded length.
  if (config.access?.group !== 'aggregation') return undefined;
  const bytes = bodyBytes(request, bodyLimit);
  if (bytes <= LARGE_BYTES) return undefined;
  const giveBack = room.take(clientOf(request), bytes);
  if (giveBack === undefined) {
    return new HttpError('overloaded', 'too many large requests are under way, of this client or of all', {
      retryAfterMs: RETRY_AFTER_MS,
    });
  }
  raw.once('close', giveBack);
  return undefined;
}

/** As declared; one that comes in chunks may have as much as is allowed, and one that is too long is refused unread. */
function bodyBytes({ headers }: FastifyRequest, bodyLimit: number): number {
  const declared = headers['content-length'];
  if (declared === undefined) return headers['transfer-encoding'] === undefined ? 0 : bodyLimit;
  const bytes = Number(declared);
  return bytes <= bodyLimit ? bytes : 0;
}
