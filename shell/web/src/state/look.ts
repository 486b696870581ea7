import type { Look } from '../scene/look.ts';
import type { Params } from './params.ts';

/** The look of the picture that parameters ask for. */
export function lookOf(params: Params): Look {
  return {
    pointSize: params.pointSize,
    pointOpacity: params.pointOpacity,
    strokeWidth: params.pointStrokeWidth,
    edgeOpacity: params.edgeOpacity,
    curvature: params.edgeCurvature,
    arrows: params.showArrows,
    highlight: params.neighborhoodHighlight,
    hops: params.neighborhoodHighlightHops,
  };
}

/** How many of the most important names are always shown. */
export function namesShown(params: Params): number {
  return params.showPointsOfInterest && params.showPointsOfInterestLabel ? params.pointsOfInterestMax : 0;
}
