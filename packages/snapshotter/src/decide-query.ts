// SPDX-License-Identifier: Apache-2.0
/** Rows of asking the driver for a snapshot that has a handle, for both kinds. Pure; first match wins. */
import type { RequestOf, ResponseOf } from '@csi-sidecars/csi';
import { isFailed } from '@csi-sidecars/runtime';
import { refuse, type Result } from '@csi-sidecars/volume';
import { fail, finish, type Run } from './conclude.ts';
import { contentNameOf } from './content-object.ts';
import type { ContentAction, ContentTypes, Planned } from './content-types.ts';
import * as messages from './messages.ts';
import { withSecrets } from './secrets.ts';

export interface Query<T extends ContentTypes> extends Run<T> {
  /** The message of a refusal is the cause of the failure, in full. */
  readonly plan: Result<PlannedQuery<T>>;
}

export interface PlannedQuery<T extends ContentTypes> extends Planned<RequestOf<T['query']>> {
  /** Whose secret it is: that of the annotations, or that of the class. */
  readonly secretOf: 'annotations' | 'class';
  /** The driver cannot be asked: this is taken for granted. */
  readonly assumed?: T['taken'] | undefined;
  /** What the answer says about the snapshot. The message of a refusal says why it cannot be used. */
  readonly readAnswer: (response: ResponseOf<T['query']>) => Result<T['taken']>;
}

export function decideQuery<T extends ContentTypes>(run: Query<T>): ContentAction<T> {
  const { state, content, kind, plan } = run;
  const { rows, messages: texts } = kind;
  const name = contentNameOf(content);
  if (plan.kind === 'error') return failQuery(run, rows.noQuery, plan.message);
  const { reference, secretOf, assumed, readAnswer } = plan.value;
  const isAnnotated = secretOf === 'annotations';
  const secrets = isAnnotated ? state.secrets : state.querySecrets;
  if (isFailed(secrets)) {
    const cause = isAnnotated ? messages.annotatedSecretUnreadable(texts.subject, name) : secrets.failure.message;
    const text = isAnnotated ? texts.noMemberSecret(name, cause) : texts.noQuerySecret(name, cause);
    return failQuery(run, rows.querySecret, text);
  }
  if (reference !== undefined && secrets === 'unasked') {
    return { row: rows.querySecret, kind: isAnnotated ? 'readSecret' : 'readQuerySecret', reference };
  }
  if (assumed !== undefined) return decideAnswer(run, assumed);
  if (state.queried === 'unasked') {
    return { row: rows.query, kind: 'query', request: withSecrets(plan.value.request, secrets) };
  }
  const taken = isFailed(state.queried) ? refuse(state.queried.failure.message) : readAnswer(state.queried.value);
  return taken.kind === 'error'
    ? failQuery(run, rows.queryFailed, texts.notQueried(name, taken.message))
    : decideAnswer(run, taken.value);
}

function decideAnswer<T extends ContentTypes>(run: Query<T>, taken: T['taken']): ContentAction<T> {
  const { state, content, kind } = run;
  const name = contentNameOf(content);
  if (state.saved === 'untried') return { row: kind.rows.save, kind: 'save', content, taken };
  if (isFailed(state.saved)) {
    return failQuery(run, kind.rows.save, messages.notWritten(name, state.saved.failure.message));
  }
  return finish(run);
}

function failQuery<T extends ContentTypes>(run: Query<T>, row: string, cause: string): ContentAction<T> {
  return fail(run, { row, procedure: run.kind.messages.checking, cause });
}
