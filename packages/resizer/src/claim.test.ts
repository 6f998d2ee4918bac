// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { aClaim, aCondition, sizeOf } from '../testing/builders.ts';
import * as claims from './claim.ts';
import { toSize } from './size.ts';

/** What each function says about this claim. */
const facts = (claim: claims.Claim) => ({
  volumeName: claims.volumeNameOf(claim),
  isBound: claims.isBound(claim),
  requested: claims.requestedSize(claim),
  capacity: claims.capacityOf(claim),
  allocated: claims.allocatedSize(claim),
  resizeStatus: claims.resizeStatusOf(claim),
  isUnderWay: claims.isUnderWay(claim),
  isResizing: claims.hasCondition(claim, 'Resizing'),
  annotation: claims.annotationOf(claim, 'note'),
  wantedClass: claims.wantedClassOf(claim),
  currentClass: claims.currentClassOf(claim),
  modifyStatus: claims.modifyStatusOf(claim),
});

const nothing = {
  volumeName: '',
  isBound: false,
  requested: toSize(undefined),
  capacity: toSize(undefined),
  allocated: undefined,
  resizeStatus: '',
  isUnderWay: false,
  isResizing: false,
  annotation: undefined,
  wantedClass: '',
  currentClass: '',
  modifyStatus: undefined,
};

it.each<{ readonly given: string; readonly claim: claims.Claim }>([
  { given: 'neither specification nor status', claim: { metadata: { name: 'data' } } },
  { given: 'an empty specification and an empty status', claim: { spec: {}, status: {} } },
  { given: 'resources without requests', claim: { spec: { resources: {} }, status: {} } },
])('given a claim with $given, then it asks for nothing and has nothing', ({ claim }) => {
  expect(facts(claim)).toEqual(nothing);
});

it('given a claim with all fields, then each of them is read', () => {
  const modifyStatus = { status: 'InProgress', targetVolumeAttributesClassName: 'gold' };
  const claim = aClaim({
    alloc: '3Gi',
    rstatus: 'NodeResizePending',
    conditions: [aCondition('Resizing')],
    annotations: { note: 'x' },
    wantedClass: 'gold',
    currentClass: 'silver',
    modifyStatus,
  });
  expect(facts(claim)).toEqual({
    volumeName: 'pv1',
    isBound: true,
    requested: sizeOf('2Gi'),
    capacity: sizeOf('1Gi'),
    allocated: sizeOf('3Gi'),
    resizeStatus: 'NodeResizePending',
    isUnderWay: true,
    isResizing: true,
    annotation: 'x',
    wantedClass: 'gold',
    currentClass: 'silver',
    modifyStatus,
  });
});

it.each([
  { given: 'one that is not true', condition: aCondition('Resizing', { status: 'False' }) },
  { given: 'one of another type', condition: aCondition('NodeResizeError') },
])('given $given, then the claim does not have the condition', ({ condition }) => {
  expect(claims.hasCondition(aClaim({ conditions: [condition] }), 'Resizing')).toBe(false);
});
