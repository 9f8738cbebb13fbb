import type { ComponentChild, ComponentChildren } from 'preact';
import type { DecodedPayload, DecodedReading } from '../../../api/messages/message-records.ts';
import { Badge, type FactRows, Facts, Id, NamedId } from '../ui/controls.tsx';
import { duration, grouped, tokenAmount, unixTime } from '../ui/figures.ts';
import { textOfHex } from '../ui/hex.ts';
import { readTokenTransfer } from './token-transfer.ts';

type Content = NonNullable<Extract<DecodedPayload, { kind: 'AddressedCall' }>['content']>;
type Justification = Extract<DecodedReading, { as: 'justification' }>['justification'];
type Message = Extract<DecodedReading, { as: 'signedMessage' | 'unsignedMessage' }>;

const READING_NAMES: Readonly<Record<DecodedReading['as'], string>> = {
  signedMessage: 'Signed Warp message',
  unsignedMessage: 'Unsigned Warp message',
  payload: 'Warp payload',
  content: 'Content of an addressed call',
  justification: 'Justification',
};

/** Summary of bytes in one line, and their fields in groups with titles. */
interface Description {
  readonly summary: string;
  readonly groups: readonly (readonly [title: string, rows: FactRows])[];
}

/** Shows the decoded content of pasted bytes. */
export function DecodedMessage({ reading }: { reading: DecodedReading }): ComponentChild {
  const { summary, groups } = describeReading(reading);
  return (
    <div class="decoded">
      <p class="decoded-lead">
        <Badge tone={reading.as === 'signedMessage' ? 'good' : 'info'}>{READING_NAMES[reading.as]}</Badge>
        <strong>{summary}</strong>
      </p>
      {groups.map(([title, rows]) => (
        <div key={title} class="facts-group">
          <h3>{title}</h3>
          <Facts rows={rows} />
        </div>
      ))}
    </div>
  );
}

function describeReading(reading: DecodedReading): Description {
  switch (reading.as) {
    case 'signedMessage':
    case 'unsignedMessage':
      return describeMessage(reading);
    case 'payload':
      return describePayload(reading.payload);
    case 'content':
      return describeContent(reading.content);
    case 'justification':
      return describeJustification(reading.justification);
  }
}

function describe(summary: string, title: string, rows: FactRows, more?: Description): Description {
  return { summary, groups: [[title, rows], ...(more?.groups ?? [])] };
}

function describeJustification(justification: Justification): Description {
  if (justification.kind === 'SubnetIDIndex') {
    const { index, subnetId, validationId } = justification;
    return describe(`Validator ${index} of a subnet's conversion`, 'Validator of the conversion', [
      ['Subnet', id(subnetId, 'subnet ID')],
      ['Index', String(index)],
      ['Validation', id(validationId, 'validation ID')],
    ]);
  }
  const { content, validationId, message } = justification;
  const rows: FactRows = [
    validationId !== undefined && ['Validation', id(validationId, 'validation ID')],
    ['Message', id(`0x${message}`, 'registration message')],
  ];
  return describe('The registration of an L1 validator', 'Registration', rows, content && describeContent(content));
}

function describeMessage(message: Message): Description {
  const { network, networkId, sourceChain, sourceBlockchainId } = message;
  // Also of other networks.
  const name = sourceChain && `${sourceChain}-Chain`;
  const rows: FactRows = [
    ['Network', network === undefined ? `ID ${networkId}` : `${network} (ID ${networkId})`],
    ['Source chain', <NamedId value={sourceBlockchainId} kind="chain" name={name} what="source blockchain ID" />],
    ['Message ID', id(message.messageId, 'message ID')],
    message.as === 'signedMessage' && [
      'Signers',
      `${message.signature.signers.length} validators, by their index in the set`,
    ],
  ];
  const payload = describePayload(message.payload);
  return describe(payload.summary, 'Message', rows, payload);
}

function describePayload(payload: DecodedPayload): Description {
  switch (payload.kind) {
    case 'Hash':
      return describe('A hash, such as that of a block', 'Hash payload', [['Hash', id(`0x${payload.hash}`, 'hash')]]);
    case 'AddressedCall': {
      const { sourceAddress, content } = payload;
      const inner = content && describeContent(content);
      const rows: FactRows = [
        ['Sent by', sourceAddress === '' ? 'the chain itself' : id(`0x${sourceAddress}`, 'source address')],
        content === undefined && ['Bytes', bytesValue(payload.payload, 'payload')],
      ];
      return describe(inner?.summary ?? 'A call with bytes of its own', 'Addressed call', rows, inner);
    }
    case 'unknown':
      return describe('A payload of no known kind', 'Payload', [
        ['Not known', payload.reason],
        ['Bytes', bytesValue(payload.bytes, 'payload')],
      ]);
  }
}

function describeContent(content: Content): Description {
  if (content.kind === 'TeleporterMessage') return describeTeleporter(content);
  if (content.kind === 'SubnetToL1Conversion') {
    const conversion = id(content.conversionId, 'conversion ID');
    return describe('A subnet has become an L1', 'Subnet conversion', [['Conversion ID', conversion]]);
  }
  const validation = ['Validation', id(content.validationId, 'validation ID')] as const;
  switch (content.kind) {
    case 'RegisterL1Validator':
      return describe('An L1 asks the P-Chain to register a validator', 'Register L1 validator', [
        ['Node', id(content.nodeId, 'NodeID')],
        ['Weight', grouped(content.weight)],
        ['Subnet', id(content.subnetId, 'subnet ID')],
        ['Until', unixTime(content.expiry)],
        validation,
        ['BLS key', id(`0x${content.blsPublicKey}`, 'BLS public key')],
        ['Balance goes back to', ownerValue(content.remainingBalanceOwner)],
        ['Can be disabled by', ownerValue(content.disableOwner)],
      ]);
    case 'L1ValidatorRegistration': {
      const state = content.registered ? 'registered' : 'registered no more, and never will be';
      return describe(`The P-Chain confirms that an L1 validator is ${state}`, 'L1 validator registration', [
        ['Registered', content.registered ? 'yes' : 'no'],
        validation,
      ]);
    }
    case 'L1ValidatorWeight': {
      const summary =
        content.weight === '0'
          ? 'An L1 validator is removed: its weight becomes 0'
          : `The weight of an L1 validator becomes ${grouped(content.weight)}`;
      const rows: FactRows = [['Weight', grouped(content.weight)], ['Nonce', content.nonce], validation];
      return describe(summary, 'L1 validator weight', rows);
    }
    case 'ValidatorUptime': {
      const uptime = duration(Number(content.totalUptime) * 1_000);
      const rows: FactRows = [['Uptime', `${grouped(content.totalUptime)} s (${uptime})`], validation];
      return describe(`An L1 validator was up for ${uptime}`, 'Validator uptime', rows);
    }
  }
}

function describeTeleporter(content: Extract<Content, { kind: 'TeleporterMessage' }>): Description {
  const { destinationBlockchainId, allowedRelayerAddresses: relayers, receipts } = content;
  const transfer = readTokenTransfer(content.message);
  const rows: FactRows = [
    ['From', id(content.originSenderAddress, 'sender address')],
    ['To', id(content.destinationAddress, 'destination address')],
    ['On chain', <NamedId value={destinationBlockchainId} kind="chain" what="destination blockchain ID" />],
    ['Nonce', grouped(content.messageNonce)],
    ['Gas limit', grouped(content.requiredGasLimit)],
    ['Relayers', relayers.length === 0 ? 'anybody may deliver it' : relayers.join(', ')],
    receipts.length > 0 && [
      'Receipts',
      receipts.map(({ receivedMessageNonce }) => `nonce ${receivedMessageNonce}`).join(', '),
    ],
    transfer === undefined && ['Bytes', bytesValue(content.message, 'Teleporter payload')],
  ];
  if (transfer === undefined) return describe('A Teleporter message to a contract', 'Teleporter message', rows);
  const { type, fields } = transfer;
  const transferRows = fields.map(({ name, kind, value }) => [name, transferValue(name, kind, value)] as const);
  const summary = `${type}, by Teleporter`;
  return describe(summary, 'Teleporter message', rows, describe(summary, `Token transfer: ${type}`, transferRows));
}

function transferValue(name: string, kind: string, value: string): ComponentChildren {
  switch (kind) {
    case 'amount':
      return tokenAmount(BigInt(value));
    case 'number':
      return grouped(value);
    case 'bytes':
      return bytesValue(value, name);
    default:
      return id(value, name);
  }
}

function ownerValue({ threshold, addresses }: { threshold: number; addresses: readonly string[] }): ComponentChildren {
  if (addresses.length === 0) return 'nobody';
  return `${threshold} of ${addresses.map((address) => `0x${address}`).join(', ')}`;
}

function id(value: string, what: string): ComponentChild {
  return <Id value={value} what={what} />;
}

/** Shows bytes in hex, and also as text if they are one. */
function bytesValue(hex: string, what: string): ComponentChildren {
  if (hex === '') return 'none';
  const text = textOfHex(hex);
  return [text !== undefined && <q class="as-text">{text}</q>, id(`0x${hex}`, what)];
}
