/**
 * How a validator acts. All but `normal` are faults that real nodes show rarely, and never when a test needs them. They differ in
 * where they are: in the signature, in the answer, in the bytes that carry it, or in the connection.
 */
export type Behaviour = { readonly kind: 'normal' } | SigningFault | AnswerFault | WireFault | ConnectionFault;

/**
 * It answers, but not with its signature of the message:
 *
 * - `wrong signature`: a valid signature of another message.
 * - `foreign signature`: of this message, with another key.
 * - `random signature`: 96 random bytes.
 * - `garbage signature`: bytes that are no point of the curve; another length than 96 makes it malformed.
 * - `infinity`: the point at infinity, the neutral element, which would change nothing in a sum.
 * - `off subgroup`: a point of the curve, but not of the subgroup of signatures.
 * - `colluding`: its signature plus, or less, an error that is the same for all. So two who collude cancel each other in a plain
 *   sum, though neither signature is good.
 */
export type SigningFault =
  | {
      readonly kind: 'wrong signature' | 'foreign signature' | 'random signature' | 'infinity' | 'off subgroup';
    }
  | { readonly kind: 'garbage signature'; readonly length?: number }
  | { readonly kind: 'colluding'; readonly error: 'plus' | 'minus' };

/**
 * It does not answer, or not as it should:
 *
 * - `silent`: answers pings and gossip, but no request.
 * - `refusing`: refuses every request, with THROTTLED or the given code.
 * - `executing late`: executes a block of the C-Chain so long after it was accepted, and until then refuses its messages.
 * - `lagging`: refuses the first requests for each message, as a node does whose chain is behind, and then signs.
 * - `slow`: answers requests after a delay; only so many where `answers` is given.
 * - `answering twice`: gives each answer two times.
 * - `misnumbering`: answers under the ID of the next request, which may belong to another peer.
 * - `unasked`: before each answer it sends unsolicited ones.
 */
export type AnswerFault =
  | { readonly kind: 'silent' | 'answering twice' | 'misnumbering' | 'unasked' }
  | { readonly kind: 'refusing'; readonly code?: number; readonly message?: string }
  | { readonly kind: 'executing late'; readonly lagMs: number }
  | { readonly kind: 'lagging'; readonly refusals: number }
  | { readonly kind: 'slow'; readonly delayMs: number; readonly answers?: number };

/**
 * What it sends in place of an answer is no message:
 *
 * - `oversized frame`: announces more than a frame may have, and begins to send it.
 * - `unfinished frame`: announces more than it ever sends.
 * - `garbage`: a frame with bytes that are no message.
 * - `compressed bomb`: some KiB that expand to many MiB.
 * - `trickling`: its answer, one byte a second.
 * - `disconnecting`: ends the connection before its answer, in the middle of it or right after it.
 */
export type WireFault =
  | { readonly kind: 'oversized frame' | 'unfinished frame' | 'garbage' | 'compressed bomb' | 'trickling' }
  | { readonly kind: 'disconnecting'; readonly when: 'before' | 'during' | 'after' };

/**
 * The connection itself:
 *
 * - `frozen`: like a stopped process: TCP connects, but nothing is read or written. What arrived is read when it thaws.
 * - `not admitting`: disconnects every peer right after TLS.
 * - `hanging TLS`, `garbage TLS`: takes TCP connections, and says nothing, or what is not TLS.
 * - `wrong certificate`: shows the certificate of another node.
 * - `malformed certificate`: shows one with a key that no node may have.
 * - `old version`: says that it runs software of long ago; it signs.
 * - `lying about addresses`: what it tells of other nodes' addresses is false.
 * - `flooding`: sends messages that nobody requested, as fast as its peers read; it signs.
 * - `moving`: is gone at the first request, and comes back under another address, where it signs.
 * - `twin`: is gone at the first request. A second node with its identity comes up elsewhere, whose address is the newer one; that
 *   answers no request, while it signs where it always was.
 */
export type ConnectionFault = {
  readonly kind:
    | 'frozen'
    | 'not admitting'
    | 'hanging TLS'
    | 'garbage TLS'
    | 'wrong certificate'
    | 'malformed certificate'
    | 'old version'
    | 'lying about addresses'
    | 'flooding'
    | 'moving'
    | 'twin';
};
