// SPDX-License-Identifier: Apache-2.0
/** The provisioning finalizer on a claim: whose it is, who settles the claim, and what is written with it. */
import { describe, expect, it } from 'vitest';
import { aClaim, aNodeDeployment, type ClaimFacts, driverName, someSettings } from '../../testing/builders.ts';
import { context, state } from '../../testing/claim-states.ts';
import { annotations, instanceAnnotation, provisioningFinalizer, unnamedProvisioningFinalizer } from '../names.ts';
import { mayProtect } from './known.ts';
import { protectionOf, settlerOf, withoutProtection, withProtection } from './protection.ts';

const ours = provisioningFinalizer(driverName);
const theirs = provisioningFinalizer('other');
const asked = { [annotations.storageProvisioner]: driverName };
const key = instanceAnnotation(driverName);
const of = (node: string): ClaimFacts => ({ protection: 'on', annotations: { ...asked, [key]: node } });

it.each<[string, ClaimFacts, readonly string[]]>([
  ['none', {}, []],
  ['that of another driver', { finalizers: ['x', theirs] }, []],
  ['its own, and that of another driver', { finalizers: [theirs, ours] }, [ours]],
  [
    'that of version 0.1, and asks for the driver',
    { finalizers: [unnamedProvisioningFinalizer] },
    [unnamedProvisioningFinalizer],
  ],
  ['that of version 0.1, and asks for no driver', { finalizers: [unnamedProvisioningFinalizer], annotations: {} }, []],
])('given a claim has %s, then the finalizers of the driver are found', (_what, facts, found) => {
  expect(protectionOf(aClaim(facts), driverName)).toEqual(found);
});

describe('who settles a claim', () => {
  const driver = { name: driverName };
  const central = { driver, settings: { node: undefined } };
  const onNode = { driver, settings: { node: aNodeDeployment('n1') } };

  it('given no finalizer, then there is nothing to settle', () => {
    expect([settlerOf(aClaim(), central), settlerOf(aClaim({ node: 'n1' }), onNode)]).toEqual(['none', 'none']);
  });

  it('given a central deployment, then it settles the claims of every instance', () => {
    expect(settlerOf(aClaim(of('n2')), central)).toBe('us');
  });

  it.each<[string, ClaimFacts, unknown]>([
    ['names this node', of('n1'), 'us'],
    ['names another node', of('n2'), { node: 'n2' }],
    ['names another node than the selected one', { ...of('n2'), node: 'n1' }, { node: 'n2' }],
    ['is missing, and this node is selected', { protection: 'on', node: 'n1' }, 'us'],
    ['is missing, and another node is selected', { protection: 'on', node: 'n2' }, { node: 'n2' }],
    ['is missing, and no node is selected', { protection: 'on' }, { node: '' }],
  ])('given the instance of a node and a claim whose annotation %s, then that decides', (_what, facts, settler) => {
    expect(settlerOf(aClaim(facts), onNode)).toEqual(settler);
  });
});

describe('adding the finalizer', () => {
  const claim = aClaim({ finalizers: ['x'] });

  it('given a central deployment, then nothing else changes; given a node, then the annotation names it', () => {
    const finalizers = ['x', ours];
    expect(withProtection(claim, driverName, undefined)).toStrictEqual({
      ...claim,
      metadata: { ...claim.metadata, finalizers },
    });
    expect(withProtection(claim, driverName, 'n1')).toEqual({
      ...claim,
      metadata: { ...claim.metadata, finalizers, annotations: { ...asked, [key]: 'n1' } },
    });
  });

  it('given it is there, then the claim is the same object, so that nothing is written', () => {
    const there = aClaim(of('n2'));
    expect(withProtection(there, driverName, 'n1')).toBe(there);
  });
});

describe('removing the finalizer', () => {
  it('given the finalizer of an instance, then its annotation goes as well, and those of others stay', () => {
    const claim = aClaim({ ...of('n1'), finalizers: ['x', theirs] });
    expect(withoutProtection(claim, driverName)).toEqual({
      ...claim,
      metadata: { ...claim.metadata, annotations: asked, finalizers: ['x', theirs] },
    });
  });

  it('given a claim without annotations, then it gets none', () => {
    const { annotations: _none, ...metadata } = aClaim({ protection: 'on' }).metadata ?? {};
    expect(withoutProtection({ ...aClaim(), metadata }, driverName).metadata).toEqual({ ...metadata, finalizers: [] });
  });

  it('given it is not there, then the claim is the same object, so that nothing is written', () => {
    const claim = aClaim({ finalizers: [theirs] });
    expect(withoutProtection(claim, driverName)).toBe(claim);
  });
});

it.each<[string, boolean, ClaimFacts, Parameters<typeof someSettings>[0]]>([
  ['a live claim', true, {}, {}],
  ['a live claim that is always protected', true, {}, { provisioningProtection: 'always' }],
  ['protection that is off', false, {}, { provisioningProtection: 'off' }],
  ['a claim that is being deleted', false, { deleting: 'yes' }, {}],
  ['a claim that has the finalizer', false, { protection: 'on' }, {}],
])('given %s, then the finalizer may be added: %s', (...[, may, claim, settings]) => {
  expect(mayProtect(state({}, claim), { ...context, settings: someSettings(settings) })).toBe(may);
});
