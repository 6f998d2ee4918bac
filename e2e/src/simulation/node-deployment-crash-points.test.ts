// SPDX-License-Identifier: Apache-2.0
import { describePoints } from './describe-points.ts';
import { nodeDeploymentFlows } from './node-deployment-flows.ts';

await describePoints(nodeDeploymentFlows, 'e2e/src/simulation/node-deployment-crash-points.test.ts');
