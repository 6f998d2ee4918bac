// SPDX-License-Identifier: Apache-2.0
/** The labels by which Kubernetes names zones and regions, on nodes, on PersistentVolumes and in their node affinity. */
export const zoneLabel = 'topology.kubernetes.io/zone';
export const regionLabel = 'topology.kubernetes.io/region';
export const betaZoneLabel = 'failure-domain.beta.kubernetes.io/zone';
export const betaRegionLabel = 'failure-domain.beta.kubernetes.io/region';
/** Between the zones in the label of a PersistentVolume that is in several. */
export const zoneDelimiter = '__';
