// SPDX-License-Identifier: Apache-2.0
/** The request for a claim, with the reads that it needs: rows C17 to C20, C42 to C46 and C65. Pure. What keeps it from being made ends the run. */
import type { VolumeContentSourceInput } from '@csi-sidecars/csi';
import { ending, type Flow, orEnd, perform, requeueAfter, type StorageClass } from '@csi-sidecars/runtime';
import type { SecretValues } from '../parameters/secrets.ts';
import { decideClone } from '../source/claim-source.ts';
import { decideSnapshot } from '../source/snapshot-source.ts';
import type { SourceAnswer, SourceRead } from '../source/source-answer.ts';
import type { SnapshotPlaces } from '../topology/snapshot-places.ts';
import { hasSelectedNode } from './claim.ts';
import { conclude, fail, stop } from './conclusions.ts';
import { mustSettle } from './known.ts';
import type { PinnedRequest } from './memory.ts';
import type { Plan } from './plan.ts';
import type { ClaimContext, Conclusion, Known, Row } from './state.ts';
import * as messages from './messages.ts';
import * as step from './steps.ts';

export function* requestFor(s: Known, context: ClaimContext, storageClass: StorageClass): Flow<PinnedRequest> {
  const source = yield* protectedSource(s, context, storageClass);
  const answer = s.plan(storageClass, mustSettle(s, context) ? 'settle' : 'provision', source?.snapshot);
  if (answer.kind === 'nodeGone' && s.presence === 'live' && hasSelectedNode(s.claim)) {
    throw ending(yield* withoutNode(s, context, answer.message));
  }
  if (answer.kind === 'outside' && s.presence === 'live' && hasSelectedNode(s.claim)) {
    throw ending(yield* outsideOfPlaces(s, context, answer.message));
  }
  if (answer.kind !== 'planned') throw ending(yield* refusing(s, context)('C18', answer.message));
  const { plan } = answer;
  const secrets = yield* secretsFor(s, context, plan);
  if (secrets?.kind === 'missing') throw ending(yield* refusing(s, context)('C19', secrets.message));
  const attributes = yield* attributesFor(s, context, plan);
  const request = {
    ...plan.request,
    ...(source && { volume_content_source: source.content }),
    ...(secrets && { secrets: secrets.values }),
    ...(attributes && { mutable_parameters: attributes }),
  };
  return { plan, request, isConfirmed: s.dataSource.kind === 'source' && s.dataSource.isConfirmed };
}

/** What prevents the call counts as an open answer for a claim that is being deleted. */
function refusing(s: Known, context: ClaimContext): (row: Row, message: string) => Flow<Conclusion> {
  return (row, message) => fail(s, context, { row, message, answer: 'open' });
}

interface UsableSource {
  readonly content: VolumeContentSourceInput;
  readonly snapshot: SnapshotPlaces | undefined;
}

/** C42 to C46. The content source of the request; undefined if the claim has no source. */
function* protectedSource(s: Known, context: ClaimContext, storageClass: StorageClass): Flow<UsableSource | undefined> {
  if (s.dataSource.kind !== 'source') return undefined;
  const { ref } = s.dataSource;
  const refuse = refusing(s, context);
  const shape = s.shape(storageClass);
  if (shape.kind === 'error') throw ending(yield* refuse('C18', shape.message));
  const answerOf = (source: SourceRead): SourceAnswer =>
    decideSource(s, context, { storageClass, source, name: ref.name });
  let source = yield* perform('C42', step.readSource, ref);
  let answer = answerOf(source);
  while (answer.kind === 'readBacking') {
    source = yield* perform('C43', step.readBacking, source, answer.name);
    answer = answerOf(source);
  }
  if (answer.kind === 'refused') throw ending(yield* refuse('C44', messages.unusableSource(ref, answer.message)));
  if (!answer.isProtected) {
    yield* orEnd(perform('C45', step.protectSource, source), ({ message }) => refuse('C46', message));
    s.isSourceProtected = true;
  }
  s.source = source;
  const { content, places } = answer;
  return { content, snapshot: places && { name: ref.name, places } };
}

interface ReadSource {
  readonly storageClass: StorageClass;
  readonly source: SourceRead;
  readonly name: string;
}

function decideSource(s: Known, context: ClaimContext, { storageClass, source, name }: ReadSource): SourceAnswer {
  const { driver, settings, supportsTopology } = context;
  const { preventsModeConversion, features } = settings;
  // Settling needs no particular place: the wider request finds the volume wherever it is.
  const readsPlaces = features.snapshotTopology && supportsTopology && !mustSettle(s, context);
  const asked = { claim: s.claim, storageClass, driverName: driver.name, name };
  return source.kind === 'snapshot'
    ? decideSnapshot({ ...asked, preventsModeConversion, readsPlaces, ...source })
    : decideClone({ ...asked, ...source });
}

/** C17: the scheduler chooses another node. */
function* withoutNode(s: Known, context: ClaimContext, message: string): Flow<Conclusion> {
  const { write, ...changes } = yield* perform('C17', step.reschedule, s, 'keep');
  Object.assign(s, changes);
  return write === 'done' ? stop('C17', message) : yield* refusing(s, context)('C17', message);
}

/**
 * C65 (alpha): the scheduler chooses another node. It does not know the places of a snapshot and may choose the same one again, so each wait before the
 * next removal is longer. Until then the node stays selected.
 */
function* outsideOfPlaces(s: Known, context: ClaimContext, message: string): Flow<Conclusion> {
  const leftMs = yield* perform('C65', step.rescheduleWait);
  if (leftMs > 0) return conclude('C65', requeueAfter(leftMs));
  const { write, ...changes } = yield* perform('C65', step.reschedule, s, 'keep');
  Object.assign(s, changes);
  if (write !== 'done') return yield* refusing(s, context)('C65', message);
  yield* perform('C65', step.beginRescheduleWait);
  return stop('C65', message);
}

/** C19. Undefined: none is configured. */
export function* secretsFor(
  s: Known,
  context: ClaimContext,
  { secrets: { provisioner: reference } }: Plan,
): Flow<Exclude<SecretValues, { kind: 'failed' }> | undefined> {
  if (reference === undefined) return undefined;
  const secrets = yield* perform('C19', step.readSecret, reference);
  if (secrets.kind === 'failed') throw ending(yield* refusing(s, context)('C19', secrets.message));
  return secrets;
}

/** C20 */
function* attributesFor(
  s: Known,
  context: ClaimContext,
  { attributesClass: name }: Plan,
): Flow<Readonly<Record<string, string>> | undefined> {
  if (name === '') return undefined;
  const refuse = refusing(s, context);
  const { driverName, parameters } = yield* orEnd(perform('C20', step.readAttributesClass, name), ({ message }) =>
    refuse('C20', message),
  );
  const drivers = { of: driverName, ours: context.driver.name };
  if (drivers.of !== drivers.ours) throw ending(yield* refuse('C20', messages.attributesForeign(name, drivers)));
  return parameters ?? {};
}
