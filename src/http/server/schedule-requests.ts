import type { Clock } from '../../lib/concurrency/clock.ts';
import { EventLoopScheduler } from '../../lib/concurrency/event-loop-scheduler.ts';
import type { Server } from '../request/http-server.ts';

/** Parsing and refusing a request takes up to 0.5 ms, and an aggregation needs some ten turns of the event loop. */
const MAX_STARTED_PER_TURN = 16;

/** Bounds the requests that start in one turn of the event loop, round robin over clients. Register it after access, which finds the client. */
export function scheduleRequests(server: Server, clock: Pick<Clock, 'afterTurn'>): void {
  const scheduler = new EventLoopScheduler(clock, MAX_STARTED_PER_TURN);
  server.addHook('onRequest', ({ context }, _reply, done) => {
    const { access } = context.route.config;
    if (access === undefined || access.group === 'operations') return done();
    scheduler.run(context.client, done);
  });
}
