import { NO_TRACER, type Tracer } from './spans.ts';
import type { TracerOptions } from './tracer-options.ts';

/** Opens a tracer, which `opened` closes. Loads OpenTelemetry only if traces are exported (docs/operate.md#traces). */
export async function openTracer(opened: AsyncDisposableStack, options: TracerOptions): Promise<Tracer> {
  const { sampling, ignored, logger } = options;
  for (const problem of ignored) logger.warn({ problem }, 'a variable of OpenTelemetry is ignored');
  if (sampling === undefined) return NO_TRACER;
  const { openTraceSdk } = await import('./trace-sdk.ts');
  const { tracer } = opened.use(openTraceSdk({ ...options, sampling }));
  logger.info(sampling, 'traces are exported');
  return tracer;
}
