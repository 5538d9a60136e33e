package typeface

// Regular is the font's file. The engine in a page does not bring it along,
// since the page has it already: who runs the engine puts it here before
// anything is measured.
var Regular []byte
