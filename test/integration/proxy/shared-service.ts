import { afterAll, beforeEach } from 'vitest';
import { startUpstreamService, type UpstreamService, type UpstreamServiceOptions } from './upstream-service.ts';

/** Starts one service for the tests of a file or `describe`. Before each of them, its stand-in is as at the start. */
export async function shareUpstreamService(options: UpstreamServiceOptions = {}): Promise<UpstreamService> {
  const service = await startUpstreamService(options);
  beforeEach(() => {
    service.standIn.behaviour = undefined;
    service.standIn.arrivals.length = 0;
  });
  afterAll(() => service[Symbol.asyncDispose]());
  return service;
}
