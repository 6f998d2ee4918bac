// SPDX-License-Identifier: Apache-2.0
/** Writes the log line of a step, if it has one. This is separate from the transitions, so that both stay readable. */
import { isForbidden, isNotFound } from '../../api/error-predicates.ts';
import type { Facts, Logger } from '../../log/logger.ts';
import { refusalOf } from './refusal.ts';
import type { Input, State, Step } from './state.ts';

export interface StepFacts {
  readonly from: State;
  readonly input: Input;
  readonly to: Step;
  readonly nowMs: number;
}

export function logStep(logger: Logger, facts: StepFacts): void {
  const { input, to } = facts;
  if (to.effect?.kind === 'replace') {
    logger.info(2, 'Caches populated', { resourceVersion: to.effect.resourceVersion });
    return;
  }
  switch (input.kind) {
    case 'failed':
      logFailure(logger, facts, input.error);
      return;
    case 'closed':
      logClose(logger, facts, input);
      return;
    case 'event':
      logEvent(logger, facts, input);
      return;
    case 'woke':
    case 'opened':
    case 'page':
      return;
  }
}

function logFailure(logger: Logger, { from, to }: StepFacts, error: unknown): void {
  const refusal = refusalOf(error);
  if (from.kind === 'listing') {
    if (to.state.kind === 'listing') logger.info(4, 'Listing again', { refusal, error });
    else logger.error(error, 'Failed to list', hintOf(error));
    return;
  }
  if (from.kind === 'openingStream') {
    logFallback(logger, to, error);
    return;
  }
  if (refusal === 'busy' || refusal === 'noAnswer') logger.info(2, 'Watch could not be opened', { refusal, error });
  else if (refusal === 'expired' || refusal === 'gone')
    logger.info(4, 'Watch closed: too old resource version', { error });
  else logger.error(error, 'Failed to watch');
}

/** The two reasons for which a cache stays empty for ever. Their texts do not say where to look. */
export function hintOf(error: unknown): Facts {
  if (isNotFound(error)) return { hint: 'is the definition of this kind installed?' };
  if (isForbidden(error)) return { hint: 'the role of this account needs list and watch' };
  return {};
}

function logFallback(logger: Logger, { state }: Step, error: unknown): void {
  if (state.kind !== 'listing') logger.info(4, 'Streaming list will be tried again', { error });
  else if (state.known.streamingRefusedAtMs === undefined) logger.info(4, 'Falling back to list', { error });
  else logger.info(2, 'The server does not support streaming lists, falling back to list', { error });
}

function logClose(logger: Logger, { from, to, nowMs }: StepFacts, { cause, error }: Input & { kind: 'closed' }): void {
  if (from.kind !== 'watching' && from.kind !== 'streaming') return;
  const facts = { cause, events: from.events, livedMs: Math.round(nowMs - from.openedAtMs) };
  if (from.kind === 'streaming') logger.warn('Streaming list closed before the end of the initial events', facts);
  else if (to.state.kind === 'waiting' && to.state.then === 'cycle') logger.warn('Very short watch', facts);
  else if (cause === 'truncated') logger.info(1, 'Watch closed with unexpected EOF', facts);
  else if (cause === 'overdue' || cause === 'silent') logger.info(2, 'Watch given up', facts);
  else if (cause === 'broken') logger.info(5, 'Watch connection broken', { ...facts, error });
  else logger.info(4, 'Watch closed', facts);
}

function logEvent(logger: Logger, { from, to }: StepFacts, { event }: Input & { kind: 'event' }): void {
  if (event.kind === 'foreign') {
    logger.error(undefined, 'Unexpected object in the watch stream, skipped', { what: event.what });
  } else if (event.kind === 'undecodable') {
    logger.error(event.error, 'watch ended with error', { bytes: event.error.bytes });
  } else if (event.kind === 'error') {
    const { error } = event;
    if (from.kind === 'streaming') {
      logFallback(logger, to, error);
      return;
    }
    const refusal = refusalOf(error);
    if (refusal === 'expired' || refusal === 'gone')
      logger.info(4, 'Watch closed: too old resource version', { error });
    else if (refusal === 'busy') logger.info(2, 'Watch closed: the server is busy', { error });
    else logger.warn('watch ended with error', { error });
  }
}
