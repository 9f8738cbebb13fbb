import { type ComponentChild, h } from 'preact';
import type { Session } from './session.ts';

export function SubnetsView(_props: { session: Session; begin?: string | undefined; subnetId?: string | undefined; readiness?: unknown }): ComponentChild {
  return h('div', { class: 'view' }, 'to come');
}
