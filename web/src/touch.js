// Fingers: one moves the map, two zoom it, a tap selects the nearest point; in lasso mode, one finger draws.

const TAP = 12; // pixels a finger may move in a tap, and around a point where a tap hits it
const MOUSE = { touchstart: 'mousedown', touchmove: 'mousemove', touchend: 'mouseup' };

export function touch(map) {
  let [before, start, moved] = [null, null, false];
  const at = (finger) => {
    const box = map.canvas.getBoundingClientRect();
    return [finger.clientX - box.left, finger.clientY - box.top];
  };
  const seen = (event) => {
    const [one, two] = [...event.touches].map(at);
    if (!one) return null;
    if (!two) return { centre: one, spread: 0 };
    return { centre: [(one[0] + two[0]) / 2, (one[1] + two[1]) / 2], spread: Math.hypot(one[0] - two[0], one[1] - two[1]) };
  };
  // The plot draws its lasso with the mouse.
  const asMouse = (event) => {
    const { clientX, clientY } = event.changedTouches[0];
    const target = event.type === 'touchstart' ? map.canvas : window;
    target.dispatchEvent(new MouseEvent(MOUSE[event.type], { clientX, clientY, button: 0, buttons: 1, bubbles: true }));
  };
  map.canvas.addEventListener('touchstart', (event) => {
    event.preventDefault();
    map.canvas.focus({ preventScroll: true });
    if (map.lassoing && event.touches.length === 1) return asMouse(event);
    before = seen(event);
    if (event.touches.length === 1) [start, moved] = [before.centre, false];
  }, { passive: false });
  map.canvas.addEventListener('touchmove', (event) => {
    event.preventDefault();
    if (map.lassoing && event.touches.length === 1) return asMouse(event);
    const now = seen(event);
    if (before) {
      if (now.spread && before.spread) map.zoom(now.spread / before.spread, now.centre);
      map.pan((now.centre[0] - before.centre[0]) / map.width, (before.centre[1] - now.centre[1]) / map.height);
      if (!start || Math.hypot(now.centre[0] - start[0], now.centre[1] - start[1]) > TAP) moved = true;
    }
    before = now;
  }, { passive: false });
  map.canvas.addEventListener('touchend', (event) => {
    event.preventDefault();
    if (map.lassoing && event.touches.length === 0) return asMouse(event);
    if (event.touches.length === 0 && start && !moved) {
      const place = map.nearest(...start, TAP);
      if (place >= 0) map.on.select([place]);
      else map.on.clear();
    }
    before = seen(event);
    if (!before) start = null;
  }, { passive: false });
}
