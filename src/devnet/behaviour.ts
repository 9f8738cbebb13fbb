/**
 * How a validator acts. All but `normal` are faults that real nodes show rarely, and never when a test needs them:
 *
 * - `silent`: answers pings and gossip, but no request.
 * - `refusing`: refuses every request, with THROTTLED or the given code.
 * - `lagging`: refuses the first requests for each message, as a node does whose chain is behind, and then signs.
 * - `slow`: answers requests after a delay.
 * - `wrong signature`: a valid signature of another message.
 * - `garbage signature`: bytes that are no point of the curve; another length than 96 makes it malformed.
 * - `frozen`: like a stopped process: TCP connects, but nothing is read or written. What arrived is read when it thaws.
 * - `not admitting`: disconnects every peer right after TLS.
 */
export type Behaviour =
  | { readonly kind: 'normal' | 'silent' | 'wrong signature' | 'frozen' | 'not admitting' }
  | { readonly kind: 'refusing'; readonly code?: number; readonly message?: string }
  | { readonly kind: 'lagging'; readonly refusals: number }
  | { readonly kind: 'slow'; readonly delayMs: number }
  | { readonly kind: 'garbage signature'; readonly length?: number };
