import { subjectsOf } from '../find/subjects.ts';
import { placeOf } from '../session.ts';

/** A parameter of `GET /v1/requests`, the ID of one request, or bytes that may be a message. */
export type RequestSearch = Readonly<
  | Record<'requestId', string>
  | Record<'bytes', string>
  | Partial<Record<'messageId' | 'transaction' | 'subnetId' | 'client', string>>
>;

/** What a text may name, as for what is signed: its form often fits several. */
export function searchesOf(text: string): readonly RequestSearch[] {
  return subjectsOf(text).flatMap((subject): RequestSearch[] => {
    switch (subject.kind) {
      case 'request':
        return [{ requestId: subject.id }];
      case 'id':
        return searchesOfId(subject.id);
      case 'bytes':
        return [{ bytes: subject.hex }];
      case 'client':
        return [{ client: subject.client }];
      case 'place': {
        const { view, rest } = placeOf(subject.hash);
        if (rest === undefined) return [];
        return view === 'activity' ? [{ requestId: rest }] : searchesOfId(rest);
      }
      case 'sender':
      case 'node':
        return [];
    }
  });
}

function searchesOfId(id: string): RequestSearch[] {
  return [{ messageId: id }, { transaction: id }, { subnetId: id }];
}
