const EVENTS = 'text/event-stream';
const JSON_TYPE = 'application/json';

/**
 * Whether `Accept` asks for events rather than JSON. Events must be named: who takes anything gets JSON, and so does who wants
 * both equally, as some clients name every type that they could read.
 */
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

/** 1 where none is given; what is no number counts as none. */
function weightOf(parameters: readonly string[]): number {
  const given = parameters.find((parameter) => parameter.startsWith('q='));
  const weight = given === undefined ? 1 : Number(given.slice(2));
  return Number.isNaN(weight) ? 1 : weight;
}
