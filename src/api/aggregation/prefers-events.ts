const EVENTS = 'text/event-stream';
const JSON_TYPE = 'application/json';

/** Whether `Accept` prefers events to JSON. Events must be named: `*\/*` means JSON, and so do equal weights. */
export function prefersEvents(accept: string = ''): boolean {
  const asked = accept.toLowerCase();
  if (!asked.includes(EVENTS)) return false;
  let events = 0;
  let json = 0;
  for (const range of asked.split(',')) {
    const [type, ...parameters] = range.split(';').map((part) => part.trim());
    if (type === EVENTS) events = Math.max(events, weightOf(parameters));
    if (type === JSON_TYPE) json = Math.max(json, weightOf(parameters));
  }
  return events > json;
}

/** Returns 1 if the weight is missing or no number. */
function weightOf(parameters: readonly string[]): number {
  const given = parameters.find((parameter) => parameter.startsWith('q='));
  const weight = given === undefined ? 1 : Number(given.slice(2));
  return Number.isNaN(weight) ? 1 : weight;
}
