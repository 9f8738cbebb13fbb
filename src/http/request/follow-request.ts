import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../lib/concurrency/clock.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Its `routeOptions`, which Fastify makes anew whenever they are asked for. */
    route: FastifyRequest['routeOptions'];
    /** Of a stream that ended with an error: the status that the plain answer would have. */
    endStatus: number | undefined;
    /** Called where the client goes before its answer is there. */
    onGone: (() => void) | undefined;
  }
}

/** Told when a request is over. */
export interface RequestFollower {
  over(request: FastifyRequest, reply: FastifyReply, end: RequestEnd): void;
}

export interface RequestEnd {
  /** The answer was handed to the network as a whole; else the client had gone before. */
  readonly isAnswered: boolean;
  /** How it ended. A stream begins with 200, whatever comes of it. */
  readonly status: number;
  readonly durationMs: number;
}

/** Tells all followers how the request ended, once, by one pair of listeners for all of them. */
export function followRequest(
  request: FastifyRequest,
  reply: FastifyReply,
  clock: Clock,
  followers: readonly RequestFollower[],
): void {
  const { raw } = reply;
  const startMs = clock.monotonicMs();
  let isOver = false;
  const end = (isAnswered: boolean = false): void => {
    if (isOver) return;
    isOver = true;
    const how = { isAnswered, status: request.endStatus ?? raw.statusCode, durationMs: clock.monotonicMs() - startMs };
    if (!isAnswered) request.onGone?.();
    for (const follower of followers) follower.over(request, reply, how);
  };
  // Each comes once: `on` takes no listener away again, which costs more than the listener.
  raw.on('finish', () => end(true));
  raw.on('close', end);
}
